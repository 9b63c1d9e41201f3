// The two passes along columns, with both columns of a pair at the same time, each on lanes of its
// own in one warp (columns concurrent): lowest latency, for few pictures. Some work is done twice.
//
// Who holds what: each lane keeps its part of the column of Z in registers (State::spectrum) from
// the first pass to the second, that of a pair's second column conjugated and at the opposite
// frequency. What the lanes of the second column compute is then the conjugate of what the others
// compute, or the negative of that.
//
// Barriers: those of transform_across_lanes. Opposite frequencies are exchanged by shuffles.
#pragma once

constexpr int PAIR_LANES = 2 * ColumnLine::LANES;
static_assert(THREADS == PAIRS * PAIR_LANES && PAIR_LANES <= 32, "one warp must hold a pair");

// The column of a thread: the first or the second of a pair.
struct OwnColumn {
  bool real;
  int x, other;  // and the column that holds the opposite frequencies
  float sign;    // −1 where the column is transformed as its conjugate

  __device__ OwnColumn(const Tile &tile, int line)
      : OwnColumn(Pair(tile.column(line / 2)), line % 2) {}
  __device__ OwnColumn(const Pair &pair, bool second)
      : real(pair.real),
        x(second ? pair.partner : pair.x),
        other(real     ? x
              : second ? pair.x
                       : pair.partner),
        sign(second && !real ? -1.f : 1.f) {}
};

// Half rows hold the two real columns as they are; sequential.cuh packs them.
__device__ __forceinline__ void split_real_columns(float2 (&)[HalfRowLine::V]) {}
__device__ __forceinline__ void join_real_columns(float2 (&)[HalfRowLine::V]) {}

// Returns what the lane of the other column holds: the conjugate of Z at the opposite frequency.
__device__ __forceinline__ float2 opposite(const float2 (&z)[ColumnLine::V], int j) {
  return make_float2(__shfl_xor_sync(ALL, z[j].x, ColumnLine::LANES),
                     __shfl_xor_sync(ALL, z[j].y, ColumnLine::LANES));
}

// The same where columns may be real. Then another lane of the same column, or this one, holds it.
__device__ __forceinline__ float2 opposite(const OwnColumn &own, const float2 (&z)[ColumnLine::V],
                                           int j) {
  const int lane = ColumnLine::lane(), first = threadIdx.x & ~(ColumnLine::LANES - 1);
  const int from =
      own.real ? first | (-lane & (ColumnLine::LANES - 1)) : threadIdx.x ^ ColumnLine::LANES;
  const float2 a = own.real ? z[ColumnLine::V - 1 - j] : z[j], here = z[-j & (ColumnLine::V - 1)];
  const float2 far = make_float2(__shfl_sync(ALL, a.x, from), __shfl_sync(ALL, a.y, from));
  return own.real ? conj(lane ? far : here) : far;
}

// Z forward along y; 4 F H; inverse along y, and on to the half rows.
__device__ __forceinline__ void columns(const Tile &tile, const Problem &problem, State &state,
                                        const StepTwiddles<ColumnLine, ColumnEnd> &twiddles) {
  const OwnColumn own(tile, ColumnLine::line());
  const auto in = tile.columns_in(own.x);
  const auto exchange = tile.column_exchange(own.x);
  float2(&z)[ColumnLine::V] = state.spectrum;
  float2 g[ColumnLine::V];
#pragma unroll
  for (int j = 0; j < ColumnLine::V; j++) z[j] = make_float2(in[j].x, own.sign * in[j].y);
  ColumnLine::transform<false>(z, exchange, twiddles.begin);
  if (__any_sync(ALL, own.real)) {
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) g[j] = opposite(own, z, j);
  } else {
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) g[j] = opposite(z, j);
  }
#pragma unroll
  for (int j = 0; j < ColumnLine::V; j++) g[j] = product(z[j], g[j]);
  if (GAUSSIAN) {  // the spectra of the denominators, inverse along y
    float2 s[ColumnLine::V];
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) s[j] = correlated(g[j], z[j]);
    ColumnLine::transform<true>(s, exchange, twiddles.begin);
    float2 *out = problem.denominators + own.x * HEIGHT + ColumnLine::lane();
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++)
      out[ColumnLine::LANES * j] = make_float2(s[j].x, own.sign * s[j].y);
  }
  transform_across_lanes<ColumnLine, ColumnEnd, true, false>(g, exchange,
                                                             tile.column_exchange_end(), twiddles);
  const OwnColumn end(tile, tile.column_end());
  const auto out = tile.to_half_rows(end.x);
#pragma unroll
  for (int j = 0; j < ColumnLine::V / 2; j++) {  // row y + i · row y + HEIGHT / 2
    const float2 upper = g[j], lower = g[j + ColumnLine::V / 2];
    out[j] = end.real ? make_float2(upper.x, lower.x)
                      : make_float2(end.sign * upper.x - lower.y, upper.y + end.sign * lower.x);
  }
  if (tile.column(0) == 0 && threadIdx.x < 32) {
    const float2 sums = ColumnLine::first(z[0]);
    if (own.x == 0) tile.share_sums(sums);  // Z(0, 0) = Σf + i Σh
  }
}

// R forward along y; S = i R Z*; inverse along y, and on to the rows.
__device__ __forceinline__ void corrections(const Tile &tile, State &state,
                                            const StepTwiddles<ColumnLine, ColumnEnd> &twiddles) {
  const OwnColumn own(tile, ColumnLine::line());
  const auto exchange = tile.column_exchange(own.x);
  float2 r[ColumnLine::V];
  const bool first = own.real || own.sign > 0.f;  // all lanes of a pair transform its first column
  unpack(r, tile.half_columns_in(first ? own.x : own.other),
         tile.half_columns_in(first ? own.other : own.x));
  ColumnLine::transform<false>(r, exchange, twiddles.begin);
#pragma unroll
  for (int j = 0; j < ColumnLine::V; j++) r[j] = correlated(r[j], state.spectrum[j]);
  transform_across_lanes<ColumnLine, ColumnEnd, true, false>(r, exchange,
                                                             tile.column_exchange_end(), twiddles);
  const OwnColumn end(tile, tile.column_end());
  const auto out = tile.to_rows(end.x);
#pragma unroll
  for (int j = 0; j < ColumnLine::V; j++) out[j] = make_float2(end.sign * r[j].x, r[j].y);
}
