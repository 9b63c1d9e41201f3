// Moments of blocks of pixels, never from sums of raw powers, which would lose skew and kurtosis.
//
// A 4 × 4 tile is gathered in two passes over registers: its mean, then powers of what is away from
// it. Then two and two are merged, tiles to pairs, pairs to strips of four, strips to blocks, each
// time moved to the mean of both. So every pixel is read once, though 16 blocks cover it. From the
// host: REAL, the precision.
#pragma once
#include "gpu/device.cuh"

constexpr int STEP = 4;              // pixels from block to block, and the side of a tile
constexpr int HALO = 3;              // tiles to the right of a block's first one, and below
constexpr int PIXELS = STEP * STEP;  // of a tile
constexpr int BLOCK = 16 * PIXELS;   // pixels of a block
constexpr int LANES = 32;

// The mean, and the sums of second to ORDER-th powers of deviations from it.
template <int ORDER>
struct Moments {
  REAL mean, power[ORDER - 1];
};

template <int ORDER>
__device__ __forceinline__ Moments<ORDER> gather(const REAL (&x)[PIXELS]) {
  Moments<ORDER> m = {};
#pragma unroll
  for (int i = 0; i < PIXELS; i++) m.mean += x[i];
  m.mean *= REAL(1) / PIXELS;
#pragma unroll
  for (int i = 0; i < PIXELS; i++) {
    const REAL away = x[i] - m.mean;
    REAL power = away;
#pragma unroll
    for (int p = 0; p < ORDER - 1; p++) m.power[p] += power *= away;
  }
  return m;
}

// Two sets of `pixels` pixels each → one of both.
template <int ORDER>
__device__ __forceinline__ Moments<ORDER> merge(const Moments<ORDER> &a, const Moments<ORDER> &b,
                                                REAL pixels) {
  Moments<ORDER> m;
  const REAL away = REAL(.5) * (b.mean - a.mean), square = away * away;  // of b; of a it is −away
  m.mean = REAL(.5) * (a.mean + b.mean);
  m.power[0] = a.power[0] + b.power[0] + 2 * pixels * square;
  if constexpr (ORDER == 4) {
    m.power[1] = a.power[1] + b.power[1] + 3 * away * (b.power[0] - a.power[0]);
    m.power[2] = a.power[2] + b.power[2] + 4 * away * (b.power[1] - a.power[1]) +
                 square * (6 * (a.power[0] + b.power[0]) + 2 * pixels * square);
  }
  return m;
}

// Those of the lane so many to the right; for the last lanes of a warp they mean nothing.
template <int ORDER>
__device__ __forceinline__ Moments<ORDER> right(Moments<ORDER> m, int lanes) {
  m.mean = __shfl_down_sync(ALL, m.mean, lanes);
#pragma unroll
  for (int p = 0; p < ORDER - 1; p++) m.power[p] = __shfl_down_sync(ALL, m.power[p], lanes);
  return m;
}

// A warp's part of the grid of blocks: a strip of LANES tiles across that it walks down.
struct Strip {
  int column;       // of this lane's tile, and of the block that begins there
  int first, last;  // rows of blocks
  bool inside;      // the plane has this lane's tiles
  bool whole;       // and the warp all tiles of its blocks

  __device__ __forceinline__ Strip(int rows, int columns, int rows_each) {
    const int warp = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    column = warp * (LANES - HALO) + lane;
    first = blockIdx.y * rows_each, last = min(first + rows_each, rows);
    inside = column < columns + HALO;
    whole = column < columns && lane < LANES - HALO;
  }
};

// `load(row)` gives what lies in memory of this lane's tile in a row of tiles, one row ahead of
// `pixels(loaded, x)`, which makes the tile's pixels of it. `write(row, block, quarter)` takes the
// moments of the block that begins at this lane's tile, and of its top left 8 × 8.
template <int ORDER, typename Load, typename Pixels, typename Write>
__device__ __forceinline__ void march(const Strip &strip, Load load, Pixels pixels, Write write) {
  using Set = Moments<ORDER>;
  Set line = {}, narrow = {}, top = {}, upper = {}, above = {}, quarter = {};
  decltype(load(0)) next = {};
  if (strip.inside) next = load(strip.first);
  for (int row = strip.first; row < strip.last + HALO; row++) {
    REAL x[PIXELS] = {};
    const auto here = next;
    if (strip.inside && row + 1 < strip.last + HALO) next = load(row + 1);
    pixels(here, x);
    const Set tile = gather<ORDER>(x);
    const Set pair = merge(tile, right(tile, 1), PIXELS);
    const Set four = merge(pair, right(pair, 2), 2 * PIXELS);
    // Named by where they end: this row of tiles, and the one before with it.
    const Set both = merge(line, four, 4 * PIXELS), small = merge(narrow, pair, 2 * PIXELS);
    if (row >= strip.first + HALO && strip.whole)
      write(row - HALO, merge(upper, both, 8 * PIXELS), quarter);
    upper = above, above = both, line = four;
    quarter = top, top = small, narrow = pair;
  }
}
