// Central moments of overlapping blocks of 16 × 16 pixels, 4 pixels apart, with each pixel read once
// though 16 blocks cover it.
//
// Who holds what: each lane has a tile of 4 × 4 pixels of a strip that the warp moves down (`march`). The
// moments of a tile are computed in registers in two passes, the mean and then powers of the deviations
// from it; sums of raw powers would lose all digits of skew and kurtosis. Moments are merged pairwise
// (Chan et al.), by shuffles along a row and in registers down the strip: tiles to pairs, pairs to four
// tiles, these to blocks.
//
// Barriers: none. Macro from the host: REAL, the precision.
#pragma once
#include "gpu/device.cuh"

constexpr int STEP = 4;              // pixels between blocks, and the side of a tile
constexpr int HALO = 3;              // tiles of a block beyond its first one, along each axis
constexpr int PIXELS = STEP * STEP;  // of a tile
constexpr int BLOCK = 16 * PIXELS;   // pixels of a block
constexpr int LANES = 32;

// Returns the square root, as accurate as sqrtf but without its branch: one Newton step from rsqrt.
// Of what is less than float32's normal numbers it is 0.
__device__ __forceinline__ float root(float x) {
#ifdef __CUDA_ARCH__
  float rough;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(x));
  const float y = x * rough;
  return x >= 1.1754944e-38f ? fmaf(.5f * rough, fmaf(-y, y, x), y) : 0;
#else
  return sqrt(x);
#endif
}

__device__ __forceinline__ double root(double x) { return sqrt(x); }

// The mean, and the sums of second to ORDER-th powers of deviations from it.
template <int ORDER>
struct Moments {
  REAL mean, power[ORDER - 1];
};

template <int ORDER>
__device__ __forceinline__ Moments<ORDER> moments_of(const REAL (&x)[PIXELS]) {
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

// Returns the moments of the union of two sets of `pixels` pixels each.
template <int ORDER>
__device__ __forceinline__ Moments<ORDER> merge(const Moments<ORDER> &a, const Moments<ORDER> &b,
                                                REAL pixels) {
  Moments<ORDER> m;
  const REAL away = REAL(.5) * (b.mean - a.mean),
             square = away * away;  // b's mean from the common one; a's is −away
  m.mean = REAL(.5) * (a.mean + b.mean);
  m.power[0] = a.power[0] + b.power[0] + 2 * pixels * square;
  if constexpr (ORDER == 4) {
    m.power[1] = a.power[1] + b.power[1] + 3 * away * (b.power[0] - a.power[0]);
    m.power[2] = a.power[2] + b.power[2] + 4 * away * (b.power[1] - a.power[1]) +
                 square * (6 * (a.power[0] + b.power[0]) + 2 * pixels * square);
  }
  return m;
}

// Returns the moments of the lane `lanes` to the right; they are undefined for the last lanes of a warp.
template <int ORDER>
__device__ __forceinline__ Moments<ORDER> right(Moments<ORDER> m, int lanes) {
  m.mean = __shfl_down_sync(ALL, m.mean, lanes);
#pragma unroll
  for (int p = 0; p < ORDER - 1; p++) m.power[p] = __shfl_down_sync(ALL, m.power[p], lanes);
  return m;
}

// A warp's part of the grid of blocks: a strip, LANES tiles wide, that it moves down.
struct Strip {
  int column;       // of this lane's tile, and of the block that begins there
  int first, last;  // rows of blocks
  bool inside;      // whether this lane's tiles lie in the plane
  bool whole;       // whether the warp has all tiles of this lane's blocks

  __device__ __forceinline__ Strip(int rows, int columns, int rows_each) {
    const int warp = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    column = warp * (LANES - HALO) + lane;
    first = blockIdx.y * rows_each, last = min(first + rows_each, rows);
    inside = column < columns + HALO;
    whole = column < columns && lane < LANES - HALO;
  }
};

// Moves down a strip. `load(row)` returns this lane's tile of a row of tiles, one row ahead of
// `moments(loaded)`, which returns its moments. `write(row, block, quarter)` gets the moments of the
// block that begins at this lane's tile, and of its top left 8 × 8 pixels.
template <int ORDER, typename Load, typename Of, typename Write>
__device__ __forceinline__ void march(const Strip &strip, Load load, Of moments, Write write) {
  using Set = Moments<ORDER>;
  Set line = {}, narrow = {}, top = {}, upper = {}, above = {}, quarter = {};
  decltype(load(0)) next = {};
  if (strip.inside) next = load(strip.first);
  for (int row = strip.first; row < strip.last + HALO; row++) {
    const auto here = next;
    if (strip.inside && row + 1 < strip.last + HALO) next = load(row + 1);
    const Set tile = moments(here);
    const Set pair = merge(tile, right(tile, 1), PIXELS);
    const Set four = merge(pair, right(pair, 2), 2 * PIXELS);
    // `both` and `small` cover this row of tiles and the one before it.
    const Set both = merge(line, four, 4 * PIXELS), small = merge(narrow, pair, 2 * PIXELS);
    if (row >= strip.first + HALO && strip.whole)
      write(row - HALO, merge(upper, both, 8 * PIXELS), quarter);
    upper = above, above = both, line = four;
    quarter = top, top = small, narrow = pair;
  }
}
