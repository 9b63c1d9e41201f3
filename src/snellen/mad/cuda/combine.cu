// The maps of detection and appearance, their root mean squares over the inner area, and the score.
//
// Who holds what: a block of `detection` computes ACROSS × DOWN pixels: the sum of squared differences
// over a 16 × 16 window, separable, by rows and then by columns in shared memory, times the mask. A
// thread of `appearance` adds the planes of all subbands for one block of pixels. Each block of threads
// writes one partial sum; `score` adds these in a fixed order, so the score has the same bits in each run.
//
// Barriers: __syncthreads between loading, rows and columns, and within `block_sum`.
#include "gpu/device.cuh"

constexpr int WIDE = ACROSS + SIDE - 1, TALL = DOWN + SIDE - 1;

// Returns the sum over the threads of a block, valid in all of them; all threads call it.
__device__ double block_sum(double value) {
  __shared__ double part[THREADS];
  part[threadIdx.x] = value;
  for (int half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  __syncthreads();
  return part[0];
}

// Reflects an index at the edges, half-sample symmetric: the edge sample occurs twice. Blocks at the end
// reach further out, where the index is clamped.
__device__ __forceinline__ int mirror(int i, int size) {
  return clamp(i < 0 ? -1 - i : i < size ? i : 2 * size - 1 - i, size - 1);
}

// Computes the sums of SIDE consecutive values of x[0], x[stride] …, from the first, second, third and
// fourth on.
__device__ __forceinline__ void windows(const REAL *x, int stride, REAL (&sum)[STEP]) {
  REAL core = 0;
#pragma unroll
  for (int i = STEP - 1; i < SIDE; i++) core += x[i * stride];
#pragma unroll
  for (int k = 0; k < STEP; k++) {
    sum[k] = core;
#pragma unroll
    for (int i = k; i < STEP - 1; i++) sum[k] += x[i * stride];
#pragma unroll
    for (int i = SIDE; i < SIDE + k; i++) sum[k] += x[i * stride];
  }
}

__device__ __forceinline__ bool inner(int i, int size) {
  return i >= TOP_LEFT && i < size - BOTTOM_RIGHT;
}

// The detection map: visibility × local mean squared error, in units of 0 … 255. `map` may be null.
extern "C" __global__ void __launch_bounds__(THREADS)
    detection(const SAMPLE *__restrict__ reference, const SAMPLE *__restrict__ distorted, int width,
              int height, REAL factor, const REAL *__restrict__ mask, int rows, int columns,
              REAL *__restrict__ map, double *__restrict__ partial) {
  __shared__ REAL squares[TALL][WIDE];
  __shared__ REAL lines[TALL][ACROSS];
  const int left = blockIdx.x * ACROSS, top = blockIdx.y * DOWN;
  for (int i = threadIdx.x; i < TALL * WIDE; i += THREADS) {
    const int y = mirror(top + i / WIDE - BEFORE, height);
    const int x = mirror(left + i % WIDE - BEFORE, width);
    const size_t here = (size_t)y * width + x;
    const REAL away = (REAL(reference[here]) - REAL(distorted[here])) * factor;
    squares[i / WIDE][i % WIDE] = away * away;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < TALL * (ACROSS / STEP); i += THREADS) {
    const int row = i / (ACROSS / STEP), column = i % (ACROSS / STEP) * STEP;
    REAL sum[STEP];
    windows(&squares[row][column], 1, sum);
#pragma unroll
    for (int k = 0; k < STEP; k++) lines[row][column + k] = sum[k];
  }
  __syncthreads();
  double pooled = 0;
  for (int i = threadIdx.x; i < DOWN / STEP * ACROSS; i += THREADS) {
    const int row = i / ACROSS * STEP, column = i % ACROSS;
    REAL sum[STEP];
    windows(&lines[row][column], ACROSS, sum);
    const int x = left + column, y = top + row, a = y / STEP, b = x / STEP;
    const REAL visible = a < rows && b < columns ? mask[(size_t)a * columns + b] : 0;
#pragma unroll
    for (int k = 0; k < STEP; k++) {
      const REAL value = visible * sum[k] / (SIDE * SIDE);
      if (map && x < width && y + k < height) map[(size_t)(y + k) * width + x] = value;
      if (inner(x, width) && inner(y + k, height)) pooled += double(value) * value;
    }
  }
  const double sum = block_sum(pooled);
  if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// Returns how many of the STEP rows or columns of a block lie in the inner area.
__device__ __forceinline__ int share(int block, int size) {
  return max(0, min((block + 1) * STEP, size - BOTTOM_RIGHT) - max(block * STEP, TOP_LEFT));
}

// The appearance map: the sum of `count` planes of differences replaces the first of them.
extern "C" __global__ void __launch_bounds__(THREADS)
    appearance(REAL *__restrict__ planes, int count, int rows, int columns, int width, int height,
               double *__restrict__ partial) {
  const int grid = rows * columns, here = blockIdx.x * THREADS + threadIdx.x;
  double pooled = 0;
  if (here < grid) {
    REAL sum = 0;
    for (int i = 0; i < count; i++) sum += planes[(size_t)i * grid + here];
    planes[here] = sum;
    pooled = double(sum) * sum * share(here / columns, height) * share(here % columns, width);
  }
  const double sum = block_sum(pooled);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// Copies the value of each block to its pixels; pixels beyond the blocks get 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    expand(const REAL *__restrict__ grid, int rows, int columns, REAL *__restrict__ map, int width,
           int height) {
  const int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 8 + threadIdx.x / 32;
  if (x >= width || y >= height) return;
  const int a = y / STEP, b = x / STEP;
  map[(size_t)y * width + x] = a < rows && b < columns ? grid[(size_t)a * columns + b] : 0;
}

// MAD, HI, LO: HI^sig · LO^(1 − sig), and 0 where HI is 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    score(const double *__restrict__ detection, int detection_count,
          const double *__restrict__ appearance, int appearance_count, double pixels,
          double hi_scale, double b1, double b2, double *__restrict__ out) {
  double hi = 0, lo = 0;
  for (int i = threadIdx.x; i < detection_count; i += THREADS) hi += detection[i];
  for (int i = threadIdx.x; i < appearance_count; i += THREADS) lo += appearance[i];
  hi = block_sum(hi);
  __syncthreads();
  lo = block_sum(lo);
  if (threadIdx.x) return;
  hi = hi_scale * sqrt(hi / pixels), lo = sqrt(lo / pixels);
  const double sig = 1 / (1 + b1 * pow(hi, b2));
  const double mad = hi > 0 ? pow(hi, sig) * pow(lo, 1 - sig) : 0;
  out[0] = isfinite(hi + lo) ? mad : hi + lo;  // NaN stays NaN: pow(NaN, 0) would be 1
  out[1] = hi, out[2] = lo;
}
