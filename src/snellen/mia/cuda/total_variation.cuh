// Total variation: f is divided by T = 1 − λ div(∇f / |∇f|), which is at least LEAST, before its
// correction is applied.
//
// Who holds what: each thread has its row of f in registers; the rows above and below are read from
// global memory, where `update` stored them one iteration earlier. Neighbours in a row come by
// shuffles.
//
// Barriers: none inside. The caller makes the stores of all blocks visible (cluster_arrive,
// cluster_wait).
#pragma once

// Returns, of a row's values, that of the pixel STEP (1 or −1) after that of value j. Other lanes
// hold it.
template <int STEP>
__device__ __forceinline__ float neighbour(const float (&row)[RowLine::V], int j) {
  constexpr int L = RowLine::LANES, V = RowLine::V;
  const bool end = RowLine::lane() == (STEP > 0 ? 0 : L - 1);  // its neighbour needs another value
  return __shfl_sync(ALL, end ? row[(j + V + STEP) % V] : row[j], RowLine::lane() + L + STEP, L);
}

// Returns 1 / |∇f|, of which SMOOTH is added to the square.
__device__ __forceinline__ float inverse_length(float across, float down) {
  return rsqrtf(fmaf(across, across, fmaf(down, down, SMOOTH)));
}

// Divides f by T; all threads of the block call it.
__device__ __forceinline__ void apply_total_variation(const Tile &tile, const Problem &problem,
                                                      State &state, int iteration) {
  const float *f = problem.f + (iteration & 1) * PIXELS;
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    const bool active = row(tile, c, y);
    float now[RowLine::V], above[RowLine::V], below[RowLine::V];
    float slope[RowLine::V], divergence[RowLine::V];  // along x; of the part along y
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) {
      now[j] = state.f_h(c, j).x;
      above[j] = __ldcg(f + pixel((y + HEIGHT - 1) % HEIGHT, j));
      below[j] = __ldcg(f + pixel((y + 1) % HEIGHT, j));
    }
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) {
      const float across = neighbour<1>(now, j) - now[j], down = below[j] - now[j];
      const float across_above = neighbour<1>(above, j) - above[j], down_above = now[j] - above[j];
      const float inverse = inverse_length(across, down);
      slope[j] = across * inverse;
      divergence[j] = down * inverse - down_above * inverse_length(across_above, down_above);
    }
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) {
      const float total = divergence[j] + slope[j] - neighbour<-1>(slope, j);
      const float divided = quotient(now[j], fmaxf(fmaf(-problem.weight, total, 1.f), LEAST));
      if (active) state.f_h(c, j).x = divided;
    }
  }
}
