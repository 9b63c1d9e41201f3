// Half rows: two real rows y and y + HEIGHT / 2 in one complex line. Back along x they are g, which is
// compared with the picture, and what comes of that goes forward along x.
#pragma once

// What R is the spectrum of: the ratio of y and g (what the blur makes of f); the Gaussian form takes y
// itself. Where nothing was observed, y is g.
__device__ __forceinline__ float compared(float y, float g, float variance) {
  if (GAUSSIAN) return y < 0.f ? g : y;
  const float below = fmaxf(g + variance, EPSILON);
  return quotient(y < 0.f ? below : y + variance, below);
}

// The rows y and y + HEIGHT / 2 of the picture, of line i of a pass.
__device__ __forceinline__ void look(const Tile &tile, const float *picture, int i,
                                     float2 *seen) {
  if (i >= HALF_ROWS) return;
#pragma unroll
  for (int j = 0; j < Half::V; j++) {
    const int at = pixel<Half>(tile.half_row(i), j);
    seen[j] = make_float2(picture[at], picture[at + PIXELS / 2]);
  }
}

// The same, or what was put aside: that goes faster, by 16 bytes and end to end for a warp.
__device__ __forceinline__ void look(const Tile &tile, const State &state, const float *picture,
                                     int i, float2 (&seen)[Half::V]) {
  if constexpr (ASIDE) {
#pragma unroll
    for (int j = 0; j < Half::V; j += 2) {
      const float4 two = state.aside[j / 2 * THREADS];
      seen[j] = make_float2(two.x, two.y), seen[j + 1] = make_float2(two.z, two.w);
    }
  } else {
    look(tile, picture, i, seen);
  }
}

// Line i of the half rows, back along x: g; then the ratio.
__device__ __forceinline__ void ratio(const Tile &tile, const float *picture, float variance,
                                      float scale, int i, const State &state,
                                      const Of<Half>::Turns &turns, float2 (&v)[Half::V]) {
  const int y = tile.half_row(i);
  const auto in = tile.half_rows_in(y);
  const auto cells = tile.half_rows_exchange(y);
  float2 seen[Half::V];
#pragma unroll
  for (int j = 0; j < Half::V; j++) v[j] = in[j];
  split(v);
  Half::begin<true>(v, cells, turns);
  if (!KEPT) look(tile, state, picture, i, seen);  // while the values are in their cells
  __syncwarp();
  Half::finish<true>(v, cells, turns);
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Half::V; j++) {
    const float2 here = KEPT ? state.seen[KEPT ? j : 0] : seen[j];
    v[j] = make_float2(compared(here.x, v[j].x * scale, variance),
                       compared(here.y, v[j].y * scale, variance));
  }
}

// Back along x: g; the ratio; forward along x.
__device__ __forceinline__ void half_rows(const Tile &tile, const float *picture, float variance,
                                          int step, const State &state,
                                          const Both<Half, HalfRowsOut> &turns) {
  constexpr int LINES = THREADS / Half::LANES;
  constexpr bool SOME = HALF_ROWS < LINES;  // only some threads have one
  tile.turn<1>(step);
  const float scale = quotient(.25f / PIXELS, fmaxf(tile.total->y, TINY));
  for (int i = Half::line(); SOME || i < HALF_ROWS; i += LINES) {
    const bool here = !SOME || i < HALF_ROWS;
    const int going = tile.half_row(i - Half::line() + HalfRowsOut::line());
    float2 v[Half::V];
    if (here) ratio(tile, picture, variance, scale, i, state, turns.in, v);
    handed<Half, HalfRowsOut, false, (HALF_ROWS > LINES)>(
        v, tile.half_rows_exchange(tile.half_row(i)), tile.half_rows_handed(going), turns, here);
    if (!here) break;
    join(v);
    const auto out = tile.to_half_columns(going);
#pragma unroll
    for (int j = 0; j < Half::V; j++) out[j] = v[j];
    if (SOME || KEPT) break;
  }
}
