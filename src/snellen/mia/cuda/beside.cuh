// The columns of a pair side by side, by lanes of one warp: some work is done twice, but none waits.
// Spectra stay in registers, those of the second column conjugated and at the opposite frequency; what
// its lanes make is the negative, or the conjugate, of what the others make.
#pragma once

constexpr int BOTH = 2 * Down::LANES;
static_assert(THREADS == PAIRS * BOTH && BOTH <= 32, "a pair of columns to so many lanes");

// One column of a pair, the first or the second.
struct Own {
  Pair pair;
  bool second;
  int x;
  float sign;  // −1 where it is transformed as its conjugate

  __device__ Own(const Tile &tile, int line)
      : pair(tile.column(line / 2)), second(line % 2), x(second ? pair.partner : pair.x),
        sign(second && !pair.real ? -1.f : 1.f) {}
};

// What the lane of the other column has.
__device__ __forceinline__ float2 others(float2 a) {
  return make_float2(__shfl_xor_sync(ALL, a.x, Down::LANES), __shfl_xor_sync(ALL, a.y, Down::LANES));
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
  const Own own(tile, Down::line());
  const auto in = tile.columns_in(own.x);
  const auto cells = tile.columns_exchange(own.x);
  float2 (&z)[Down::V] = state.spectrum;
  float2 g[Down::V];
#pragma unroll
  for (int j = 0; j < Down::V; j++) z[j] = make_float2(in[j].x, own.sign * in[j].y);
  Down::transform<false>(z, cells, turns);
  const float2 sums = Down::first(z[0]);
  if (own.x == 0) tile.tell(sums);  // Z(0, 0) = Σf + i Σh
#pragma unroll
  for (int j = 0; j < Down::V; j++) g[j] = others(z[j]);
  if (__any_sync(ALL, own.pair.real)) {
    float2 q[Down::V];
    mirror(q, z, cells);
#pragma unroll
    for (int j = 0; j < Down::V; j++) g[j] = own.pair.real ? conj(q[j]) : g[j];
  }
#pragma unroll
  for (int j = 0; j < Down::V; j++) g[j] = product(z[j], g[j]);
  if (GAUSSIAN) {
    float2 s[Down::V];
#pragma unroll
    for (int j = 0; j < Down::V; j++) s[j] = correlated(g[j], z[j]);
    Down::transform<true>(s, cells, turns);
    float2 *out = problem.denominators + own.x * HEIGHT + Down::lane();
#pragma unroll
    for (int j = 0; j < Down::V; j++) out[Down::LANES * j] = make_float2(s[j].x, own.sign * s[j].y);
  }
  if (__any_sync(ALL, own.pair.real)) {  // two real columns become one
#pragma unroll
    for (int j = 0; j < Down::V; j++) {
      const float2 other = others(g[j]);
      const float2 one = own.second ? other : g[j], two = own.second ? g[j] : other;
      if (own.pair.real) g[j] = one + quarter<true>(two);
    }
  }
  handed<Down, ColumnsOut, true>(g, cells, tile.columns_handed(), turns, THREADS, false);
  const Own going(tile, tile.column_out());
  const auto out = tile.to_half_rows(going.x);
#pragma unroll
  for (int j = 0; j < Down::V / 2; j++) {  // row y, and row y + HEIGHT / 2 as the imaginary part
    const float2 upper = g[j], lower = g[j + Down::V / 2];
    const float2 real = going.second ? make_float2(upper.y, lower.y) : make_float2(upper.x, lower.x);
    out[j] = going.pair.real ? real : make_float2(going.sign * upper.x - lower.y,
                                                  upper.y + going.sign * lower.x);
  }
}

// R along y; S = i R Z*, back along y.
__device__ __forceinline__ void corrections(const Tile &tile, State &state, const float2 *turns) {
  const Own own(tile, Down::line());
  const auto cells = tile.columns_exchange(own.x);
  float2 r[Down::V], q[Down::V];
  unpack(r, tile.half_columns_in(own.pair.x),
         tile.half_columns_in(own.pair.partner), own.pair.real);
  Down::transform<false>(r, cells, turns);
  if (__any_sync(ALL, own.pair.real)) {
    mirror(q, r, cells);
#pragma unroll
    for (int j = 0; j < Down::V; j++) r[j] = own.pair.real ? part(r[j], q[j], own.second) : r[j];
  }
#pragma unroll
  for (int j = 0; j < Down::V; j++) r[j] = correlated(r[j], state.spectrum[j]);
  handed<Down, ColumnsOut, true>(r, cells, tile.columns_handed(), turns, THREADS, false);
  const Own going(tile, tile.column_out());
  const auto out = tile.to_rows(going.x);
#pragma unroll
  for (int j = 0; j < Down::V; j++) out[j] = make_float2(going.sign * r[j].x, r[j].y);
}
