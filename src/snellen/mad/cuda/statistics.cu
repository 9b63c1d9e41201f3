// Standard deviation, skew and kurtosis of the blocks of subbands, and their weighted differences.
//
// Who holds what: a warp moves down a strip of 32 tiles of 4 × 4 pixels (moments.cuh), one lane for each
// tile across, all in registers. Reading the complex subbands, once each, is the limit. (The CUDA paper's
// kernel A5 had one thread for each block of 16 × 16, with its 256 pixels in local memory.) Grid: strips
// across, strips down, subbands. Barriers: none; lanes use shuffles and warps are independent.
#include "moments.cuh"

__device__ constexpr REAL weights[] = WEIGHTS;  // of the scales

struct Values {
  REAL deviation, skew, kurtosis;
};

// Variance below which a block counts as flat: float32 has no digits left for its fourth moment.
constexpr REAL FLAT = sizeof(REAL) == 4 ? REAL(1e-18) : REAL(1e-36);

// Returns the rounded product, never fused with an addition, so that equal blocks differ by exactly 0.
__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }

// Returns the sample deviation, and skew and (not excess) kurtosis of the population, both 0 in a flat
// block.
__device__ __forceinline__ Values values(const Moments<4> &m) {
  const REAL variance = m.power[0] / BLOCK, deviation = root(m.power[0] / (BLOCK - 1));
  if (variance < FLAT) return {deviation, 0, 0};
  const REAL inverse = 1 / variance;
  return {deviation, times(m.power[1] / BLOCK * inverse, root(inverse)),
          times(m.power[2] / BLOCK * inverse, inverse)};
}

#if GIVEN_TILES
using Given = float4;  // the moments of a tile
using Tile = float4;

__device__ __forceinline__ Tile tile(const Given *tiles, int across, int row, int column) {
  return __ldcs(tiles + (size_t)row * across + column);
}

__device__ __forceinline__ Moments<4> moments(const Tile &tile) {
  return {tile.x, {tile.y, tile.z, tile.w}};
}
#else
using Given = COMPLEX;
constexpr bool PAIRS = EVEN && sizeof(COMPLEX) == 8;

// A tile of complex filter responses.
struct Tile {
  COMPLEX of[PIXELS];
};

// Loads a tile, past the L1 cache because nothing is read again. With an even width two pixels of
// float32 are aligned and read at once.
__device__ __forceinline__ Tile tile(const COMPLEX *band, int width, int row, int column) {
  const COMPLEX *corner = band + (size_t)row * STEP * width + column * STEP;
  Tile tile;
#pragma unroll
  for (int i = 0; i < STEP; i++, corner += width)
#pragma unroll
    for (int j = 0; j < STEP; j += PAIRS ? 2 : 1)
      if constexpr (PAIRS) {
        const float4 two = __ldcs(reinterpret_cast<const float4 *>(corner + j));
        tile.of[i * STEP + j] = {two.x, two.y}, tile.of[i * STEP + j + 1] = {two.z, two.w};
      } else {
        tile.of[i * STEP + j] = __ldcs(corner + j);
      }
  return tile;
}

__device__ __forceinline__ Moments<4> moments(const Tile &tile) {
  REAL x[PIXELS];
#pragma unroll
  for (int i = 0; i < PIXELS; i++)
    x[i] = root(tile.of[i].x * tile.of[i].x + tile.of[i].y * tile.of[i].y);
  return moments_of<4>(x);
}
#endif

// Calls `take(index in the grid of blocks, values)` for each block of this warp.
template <typename Take>
__device__ __forceinline__ void for_each_block(const Given *band, int across, int rows,
                                               int columns, int rows_each, Take take) {
  const Strip strip(rows, columns, rows_each);
  march<4>(
      strip, [&](int row) { return tile(band, across, row, strip.column); },
      [](const Tile &tile) { return moments(tile); },
      [&](int row, const Moments<4> &block, const Moments<4> &) {
        take((size_t)row * columns + strip.column, values(block));
      });
}

// Stores the statistics of the reference's subbands, three planes for each.
extern "C" __global__ void __launch_bounds__(THREADS)
    describe(const Given *__restrict__ bands, int across, int down, int rows, int columns,
             int rows_each, REAL *__restrict__ out) {
  const size_t grid = (size_t)rows * columns;
  out += blockIdx.z * 3 * grid;
  for_each_block(bands + (size_t)blockIdx.z * across * down, across, rows, columns, rows_each,
                 [&](size_t here, Values v) {
                   out[here] = v.deviation, out[grid + here] = v.skew,
                   out[2 * grid + here] = v.kurtosis;
                 });
}

// Computes how far the distorted picture's statistics are from the reference's, weighted by scale; one
// plane for each subband.
extern "C" __global__ void __launch_bounds__(THREADS)
    compare(const Given *__restrict__ bands, int across, int down, int rows, int columns,
            int rows_each, const REAL *__restrict__ reference, int first, REAL *__restrict__ out) {
  const size_t grid = (size_t)rows * columns;
  reference += blockIdx.z * 3 * grid, out += blockIdx.z * grid;
  REAL weight = 0;
#pragma unroll
  for (int scale = 0; scale < SCALES; scale++)
    if ((first + blockIdx.z) / ORIENTATIONS == scale) weight = weights[scale];
  for_each_block(bands + (size_t)blockIdx.z * across * down, across, rows, columns, rows_each,
                 [&](size_t here, Values v) {
                   out[here] = weight * (fabs(v.deviation - reference[here]) +
                                         TWICE * fabs(v.skew - reference[grid + here]) +
                                         fabs(v.kurtosis - reference[2 * grid + here]));
                 });
}
