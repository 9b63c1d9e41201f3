// Total variation: f is divided by T = 1 − λ div(∇f / |∇f|), at least LEAST, before its correction.
#pragma once

// Of a row's values, that of the pixel after that of value j, or before it (STEP −1): other lanes have them.
template <int STEP>
__device__ __forceinline__ float neighbour(const float (&row)[Across::V], int j) {
  constexpr int L = Across::LANES, V = Across::V;
  const bool end = Across::lane() == (STEP > 0 ? 0 : L - 1);  // its neighbour wants another value
  return __shfl_sync(ALL, end ? row[(j + V + STEP) % V] : row[j], Across::lane() + L + STEP, L);
}

// 1 / |∇f|
__device__ __forceinline__ float inverse_length(float across, float down) {
  return rsqrtf(fmaf(across, across, fmaf(down, down, SMOOTH)));
}

// All threads come. Of f as it was, the rows above and below are in global memory.
__device__ __forceinline__ void smoothed(const Tile &tile, const Problem &problem, State &state,
                                         int iteration) {
  const float *f = problem.f + (iteration & 1) * PIXELS;
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    const bool here = row(tile, c, y);
    float now[Across::V], above[Across::V], below[Across::V];
    float slope[Across::V], divergence[Across::V];  // along x; of the part along y
#pragma unroll
    for (int j = 0; j < Across::V; j++) {
      now[j] = state.f_h(c, j).x;
      above[j] = __ldcg(f + pixel((y + HEIGHT - 1) % HEIGHT, j));
      below[j] = __ldcg(f + pixel((y + 1) % HEIGHT, j));
    }
#pragma unroll
    for (int j = 0; j < Across::V; j++) {
      const float across = neighbour<1>(now, j) - now[j], down = below[j] - now[j];
      const float across_above = neighbour<1>(above, j) - above[j], down_above = now[j] - above[j];
      const float inverse = inverse_length(across, down);
      slope[j] = across * inverse;
      divergence[j] = down * inverse - down_above * inverse_length(across_above, down_above);
    }
#pragma unroll
    for (int j = 0; j < Across::V; j++) {
      const float all = divergence[j] + slope[j] - neighbour<-1>(slope, j);
      const float divided = quotient(now[j], fmaxf(fmaf(-problem.weight, all, 1.f), LEAST));
      if (here) state.f_h(c, j).x = divided;
    }
  }
}
