// The columns of a pair side by side, by lanes of one warp or of two: some work is done twice, but none waits.
// Spectra stay in registers, those of the second column conjugated and at the opposite frequency; what
// its lanes make is the negative, or the conjugate, of what the others make.
#pragma once

constexpr int BOTH = 2 * Down::LANES;
constexpr bool ONE_WARP = BOTH <= 32;  // has both columns of a pair; else two have
static_assert(THREADS == PAIRS * BOTH && TOGETHER == (ONE_WARP ? 2 : 1), "lanes for every column");

// Whether this lane has the second column.
__device__ __forceinline__ bool second() { return Down::line() % 2; }

// What the lanes of the other column have.
template <class Cells>
__device__ __forceinline__ void others(float2 (&b)[Down::V], const float2 (&a)[Down::V],
                                       const Cells &cells) {
  if constexpr (ONE_WARP) {
#pragma unroll
    for (int j = 0; j < Down::V; j++)
      b[j] = make_float2(__shfl_xor_sync(ALL, a[j].x, 1), __shfl_xor_sync(ALL, a[j].y, 1));
  } else {
    const int name = 1 + threadIdx.x / BOTH;  // of a barrier of two warps
    const float2 *theirs = cells.cells + (second() ? -OF_WARP : OF_WARP) + Down::lane();
#pragma unroll
    for (int j = 0; j < Down::V; j++) cells[j] = a[j];
    asm volatile("bar.sync %0, 64;" ::"r"(name) : "memory");
#pragma unroll
    for (int j = 0; j < Down::V; j++) b[j] = theirs[Down::LANES * j];
    asm volatile("bar.sync %0, 64;" ::"r"(name) : "memory");
  }
}

// The opposite frequencies of a line, by way of memory.
template <class Cells>
__device__ __forceinline__ void mirror(float2 (&q)[Down::V], const float2 (&v)[Down::V],
                                       const Cells &cells) {
#pragma unroll
  for (int j = 0; j < Down::V; j++) cells[j] = v[j];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Down::V; j++) q[j] = cells.at(Down::opposite(j));
  __syncwarp();
}

// Along y, forward; the product; back along y.
__device__ __forceinline__ void columns(const Tile &tile, const Problem &problem, State &state,
                                        const float2 *turns) {
  const Pair pair(tile.column(Down::line() / 2));
  const int own = second() ? pair.partner : pair.x;
  const float sign = second() && !pair.real ? -1.f : 1.f;
  const auto in = tile.columns_in(own);
  const auto cells = tile.columns_exchange(own);
  float2 (&z)[Down::V] = state.spectrum;
  float2 g[Down::V];
#pragma unroll
  for (int j = 0; j < Down::V; j++) z[j] = make_float2(in[j].x, sign * in[j].y);
  Down::transform<false>(z, cells, turns);
  const float2 sums = Down::first(z[0]);
  if (own == 0) tile.tell(sums);  // Z(0, 0) = Σf + i Σh
  others(g, z, cells);
  if (__any_sync(ALL, pair.real)) {
    float2 q[Down::V];
    mirror(q, z, cells);
#pragma unroll
    for (int j = 0; j < Down::V; j++) g[j] = pair.real ? conj(q[j]) : g[j];
  }
#pragma unroll
  for (int j = 0; j < Down::V; j++) g[j] = product(z[j], g[j]);
  if (GAUSSIAN) {
    float2 s[Down::V];
#pragma unroll
    for (int j = 0; j < Down::V; j++) s[j] = correlated(g[j], z[j]);
    Down::transform<true>(s, cells, turns);
    float2 *out = problem.denominators + own * HEIGHT + Down::lane();
#pragma unroll
    for (int j = 0; j < Down::V; j++) out[Down::LANES * j] = make_float2(s[j].x, sign * s[j].y);
  }
  if (__any_sync(ALL, pair.real)) {  // two real columns become one
    float2 q[Down::V];
    others(q, g, cells);
#pragma unroll
    for (int j = 0; j < Down::V; j++) {
      const float2 one = second() ? q[j] : g[j], two = second() ? g[j] : q[j];
      if (pair.real) g[j] = one + quarter<true>(two);
    }
  }
  Down::transform<true>(g, cells, turns);
  const auto out = tile.to_half_rows(own);
#pragma unroll
  for (int j = 0; j < Down::V / 2; j++) {  // row y, and row y + HEIGHT / 2 as the imaginary part
    const float2 upper = g[j], lower = g[j + Down::V / 2];
    const float2 real = second() ? make_float2(upper.y, lower.y) : make_float2(upper.x, lower.x);
    out[j] = pair.real ? real : make_float2(sign * upper.x - lower.y, upper.y + sign * lower.x);
  }
}

// R along y; S = i R Z*, back along y.
__device__ __forceinline__ void corrections(const Tile &tile, State &state, const float2 *turns) {
  const Pair pair(tile.column(Down::line() / 2));
  const int own = second() ? pair.partner : pair.x;
  const float sign = second() && !pair.real ? -1.f : 1.f;
  const auto cells = tile.columns_exchange(own);
  float2 r[Down::V], q[Down::V];
  unpack(r, tile.half_columns_in(pair.x), tile.half_columns_in(pair.partner), pair.real);
  Down::transform<false>(r, cells, turns);
  if (__any_sync(ALL, pair.real)) {
    mirror(q, r, cells);
#pragma unroll
    for (int j = 0; j < Down::V; j++) r[j] = pair.real ? part(r[j], q[j], second()) : r[j];
  }
#pragma unroll
  for (int j = 0; j < Down::V; j++) r[j] = correlated(r[j], state.spectrum[j]);
  Down::transform<true>(r, cells, turns);
  const auto out = tile.to_rows(own);
#pragma unroll
  for (int j = 0; j < Down::V; j++) out[j] = make_float2(sign * r[j].x, r[j].y);
}
