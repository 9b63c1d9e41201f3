// Standard deviation, skew and kurtosis of the blocks of subbands, and how they differ.
//
// What bounds it is reading the complex subbands, once each: a warp walks down a strip of 32 tiles of
// 4 × 4 pixels (moments.cuh), a lane for each tile across, all in registers; neighbours speak by
// shuffles, and no warp waits for another. The CUDA paper's kernel (its A5) had one thread for each
// block of 16 × 16 with the block's 256 pixels in local memory. Grid: strips across, strips down,
// subbands.
#include "moments.cuh"

__device__ constexpr REAL weights[] = WEIGHTS;  // of each scale
constexpr bool PAIRS = EVEN && sizeof(COMPLEX) == 8;

struct Values {
  REAL deviation, skew, kurtosis;
};

// Variance below which a block is flat: float32 has no digits for its fourth power.
constexpr REAL FLAT = sizeof(REAL) == 4 ? REAL(1e-18) : REAL(1e-36);

// The square root; sqrtf, rounded like this, would branch for every pixel.
__device__ __forceinline__ float root(float x) {
  float rough;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(rough) : "f"(x));
  const float y = x * rough;
  return x > 0 ? fmaf(.5f * rough, fmaf(-y, y, x), y) : 0;
}

__device__ __forceinline__ double root(double x) { return sqrt(x); }

// Rounded by itself, so that equal blocks differ by exactly nothing.
__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }

// Sample deviation; skew and plain kurtosis by the population's; both 0 in a flat block.
__device__ __forceinline__ Values values(const Moments<4> &m) {
  const REAL variance = m.power[0] / BLOCK, deviation = root(m.power[0] / (BLOCK - 1));
  if (variance < FLAT) return {deviation, 0, 0};
  const REAL inverse = 1 / variance;
  return {deviation, times(m.power[1] / BLOCK * inverse, root(inverse)),
          times(m.power[2] / BLOCK * inverse, inverse)};
}

// A tile of responses.
struct Tile {
  COMPLEX of[PIXELS];
};

// Rows of an even width let two pixels of float32 be read at once. Nothing is read again.
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

// Calls `take(place in the grid of blocks, values)` for each block of this warp.
template <typename Take>
__device__ __forceinline__ void walk(const COMPLEX *band, int width, int rows, int columns,
                                     int rows_each, Take take) {
  const Strip strip(rows, columns, rows_each);
  march<4>(
      strip, [&](int row) { return tile(band, width, row, strip.column); },
      [](const Tile &tile, REAL(&x)[PIXELS]) {
#pragma unroll
        for (int i = 0; i < PIXELS; i++)
          x[i] = root(tile.of[i].x * tile.of[i].x + tile.of[i].y * tile.of[i].y);
      },
      [&](int row, const Moments<4> &block, const Moments<4> &) {
        take((size_t)row * columns + strip.column, values(block));
      });
}

// Of the reference's subbands: kept, three planes for each.
extern "C" __global__ void __launch_bounds__(THREADS)
    describe(const COMPLEX *__restrict__ bands, int width, int height, int rows, int columns,
             int rows_each, REAL *__restrict__ out) {
  const size_t grid = (size_t)rows * columns;
  out += blockIdx.z * 3 * grid;
  walk(bands + (size_t)blockIdx.z * width * height, width, rows, columns, rows_each,
       [&](size_t here, Values v) {
         out[here] = v.deviation, out[grid + here] = v.skew, out[2 * grid + here] = v.kurtosis;
       });
}

// Of the distorted picture's: how far from what was kept, weighted by the scale; a plane for each.
extern "C" __global__ void __launch_bounds__(THREADS)
    compare(const COMPLEX *__restrict__ bands, int width, int height, int rows, int columns,
            int rows_each, const REAL *__restrict__ kept, int first, REAL *__restrict__ out) {
  const size_t grid = (size_t)rows * columns;
  kept += blockIdx.z * 3 * grid, out += blockIdx.z * grid;
  REAL weight = 0;
#pragma unroll
  for (int scale = 0; scale < SCALES; scale++)
    if ((first + blockIdx.z) / ORIENTATIONS == scale) weight = weights[scale];
  walk(bands + (size_t)blockIdx.z * width * height, width, rows, columns, rows_each,
       [&](size_t here, Values v) {
         out[here] = weight * (fabs(v.deviation - kept[here]) +
                               TWICE * fabs(v.skew - kept[grid + here]) +
                               fabs(v.kurtosis - kept[2 * grid + here]));
       });
}
