// The columns of a pair side by side, by lanes of one warp: some work is done twice, but none waits.
// Spectra stay in registers, those of the second column conjugated and at the opposite frequency; what
// its lanes make is the conjugate of what the others make, or the negative of that.
#pragma once

constexpr int BOTH = 2 * Down::LANES;
static_assert(THREADS == PAIRS * BOTH && BOTH <= 32, "a pair of columns to so many lanes");

// One column of a pair, the first or the second.
struct Own {
  bool real;
  int x, other;  // and the column that has the opposite frequencies
  float sign;    // −1 where it is transformed as its conjugate

  __device__ Own(const Tile &tile, int line) : Own(Pair(tile.column(line / 2)), line % 2) {}
  __device__ Own(const Pair &pair, bool second)
      : real(pair.real), x(second ? pair.partner : pair.x),
        other(real ? x : second ? pair.x : pair.partner), sign(second && !real ? -1.f : 1.f) {}
};

// Half rows have all columns as they are: see inturn.cuh.
__device__ __forceinline__ void split(float2 (&)[Half::V]) {}
__device__ __forceinline__ void join(float2 (&)[Half::V]) {}

// What the lane of the other column has: the conjugate of the opposite frequency of value j.
__device__ __forceinline__ float2 opposite(const float2 (&z)[Down::V], int j) {
  return make_float2(__shfl_xor_sync(ALL, z[j].x, Down::LANES),
                     __shfl_xor_sync(ALL, z[j].y, Down::LANES));
}

// The same where columns may be real: then another lane of the same column has it, or this one.
__device__ __forceinline__ float2 opposite(const Own &own, const float2 (&z)[Down::V], int j) {
  const int lane = Down::lane(), first = threadIdx.x & ~(Down::LANES - 1);
  const int from = own.real ? first | (-lane & (Down::LANES - 1)) : threadIdx.x ^ Down::LANES;
  const float2 a = own.real ? z[Down::V - 1 - j] : z[j], here = z[-j & (Down::V - 1)];
  const float2 far = make_float2(__shfl_sync(ALL, a.x, from), __shfl_sync(ALL, a.y, from));
  return own.real ? conj(lane ? far : here) : far;
}

// Along y, forward; the product; back along y.
__device__ __forceinline__ void columns(const Tile &tile, const Problem &problem, State &state,
                                        const Both<Down, ColumnsOut> &turns) {
  const Own own(tile, Down::line());
  const auto in = tile.columns_in(own.x);
  const auto cells = tile.columns_exchange(own.x);
  float2 (&z)[Down::V] = state.spectrum;
  float2 g[Down::V];
#pragma unroll
  for (int j = 0; j < Down::V; j++) z[j] = make_float2(in[j].x, own.sign * in[j].y);
  Down::transform<false>(z, cells, turns.in);
  if (__any_sync(ALL, own.real)) {
#pragma unroll
    for (int j = 0; j < Down::V; j++) g[j] = opposite(own, z, j);
  } else {
#pragma unroll
    for (int j = 0; j < Down::V; j++) g[j] = opposite(z, j);
  }
#pragma unroll
  for (int j = 0; j < Down::V; j++) g[j] = product(z[j], g[j]);
  if (GAUSSIAN) {
    float2 s[Down::V];
#pragma unroll
    for (int j = 0; j < Down::V; j++) s[j] = correlated(g[j], z[j]);
    Down::transform<true>(s, cells, turns.in);
    float2 *out = problem.denominators + own.x * HEIGHT + Down::lane();
#pragma unroll
    for (int j = 0; j < Down::V; j++) out[Down::LANES * j] = make_float2(s[j].x, own.sign * s[j].y);
  }
  handed<Down, ColumnsOut, true, false>(g, cells, tile.columns_handed(), turns);
  const Own going(tile, tile.column_out());
  const auto out = tile.to_half_rows(going.x);
#pragma unroll
  for (int j = 0; j < Down::V / 2; j++) {  // row y, and row y + HEIGHT / 2 as the imaginary part
    const float2 upper = g[j], lower = g[j + Down::V / 2];
    out[j] = going.real ? make_float2(upper.x, lower.x)
                        : make_float2(going.sign * upper.x - lower.y, upper.y + going.sign * lower.x);
  }
  if (tile.column(0) == 0 && threadIdx.x < 32) {
    const float2 sums = Down::first(z[0]);
    if (own.x == 0) tile.tell(sums);  // Z(0, 0) = Σf + i Σh
  }
}

// R along y; S = i R Z*, back along y.
__device__ __forceinline__ void corrections(const Tile &tile, State &state,
                                            const Both<Down, ColumnsOut> &turns) {
  const Own own(tile, Down::line());
  const auto cells = tile.columns_exchange(own.x);
  float2 r[Down::V];
  const bool first = own.real || own.sign > 0.f;  // both lanes of a pair transform its first column
  unpack(r, tile.half_columns_in(first ? own.x : own.other),
         tile.half_columns_in(first ? own.other : own.x));
  Down::transform<false>(r, cells, turns.in);
#pragma unroll
  for (int j = 0; j < Down::V; j++) r[j] = correlated(r[j], state.spectrum[j]);
  handed<Down, ColumnsOut, true, false>(r, cells, tile.columns_handed(), turns);
  const Own going(tile, tile.column_out());
  const auto out = tile.to_rows(going.x);
#pragma unroll
  for (int j = 0; j < Down::V; j++) out[j] = make_float2(going.sign * r[j].x, r[j].y);
}
