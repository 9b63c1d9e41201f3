// Maps, their root mean squares over the inner area, and the score.
//
// `seen` makes ACROSS × DOWN pixels a block: the 16 × 16 window of squared differences by rows, then
// by columns, in shared memory, times the mask. `looks` sums up the subbands' planes. Each block leaves
// one partial sum, and `score` adds these in a fixed order: the same bytes each run.
#include "gpu/device.cuh"

constexpr int WIDE = ACROSS + SIDE - 1, TALL = DOWN + SIDE - 1;

// The sum over the threads of a block.
__device__ double total(double value) {
  __shared__ double part[THREADS];
  part[threadIdx.x] = value;
  for (int half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  __syncthreads();
  return part[0];
}

// Half-sample symmetric: the edge sample comes twice. (Blocks at the end reach further out.)
__device__ __forceinline__ int mirror(int i, int size) {
  return clamp(i < 0 ? -1 - i : i < size ? i : 2 * size - 1 - i, size - 1);
}

// Sums of SIDE of x[0], x[stride] …, that begin at 0, 1, 2 and 3.
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

// visibility × local MSE of 0 … 255; `map` may be null.
extern "C" __global__ void __launch_bounds__(THREADS)
    seen(const SAMPLE *__restrict__ reference, const SAMPLE *__restrict__ distorted, int width,
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
  const double sum = total(pooled);
  if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// How many of a block's STEP rows or columns lie in the inner area.
__device__ __forceinline__ int share(int block, int size) {
  return max(0, min((block + 1) * STEP, size - BOTTOM_RIGHT) - max(block * STEP, TOP_LEFT));
}

// The sum of `count` planes of differences, into the first of them.
extern "C" __global__ void __launch_bounds__(THREADS)
    looks(REAL *__restrict__ planes, int count, int rows, int columns, int width, int height,
          double *__restrict__ partial) {
  const int grid = rows * columns, here = blockIdx.x * THREADS + threadIdx.x;
  double pooled = 0;
  if (here < grid) {
    REAL sum = 0;
    for (int i = 0; i < count; i++) sum += planes[(size_t)i * grid + here];
    planes[here] = sum;
    pooled = double(sum) * sum * share(here / columns, height) * share(here % columns, width);
  }
  const double sum = total(pooled);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// A value for each block → its pixels; 0 beyond the blocks.
extern "C" __global__ void __launch_bounds__(THREADS)
    spread(const REAL *__restrict__ grid, int rows, int columns, REAL *__restrict__ map, int width,
           int height) {
  const int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 8 + threadIdx.x / 32;
  if (x >= width || y >= height) return;
  const int a = y / STEP, b = x / STEP;
  map[(size_t)y * width + x] = a < rows && b < columns ? grid[(size_t)a * columns + b] : 0;
}

// MAD, HI, LO: HI^sig · LO^(1 − sig), and 0 where HI is 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    score(const double *__restrict__ seen, int seen_count, const double *__restrict__ looks,
          int looks_count, double pixels, double hi_scale, double b1, double b2,
          double *__restrict__ out) {
  double hi = 0, lo = 0;
  for (int i = threadIdx.x; i < seen_count; i += THREADS) hi += seen[i];
  for (int i = threadIdx.x; i < looks_count; i += THREADS) lo += looks[i];
  hi = total(hi);
  __syncthreads();
  lo = total(lo);
  if (threadIdx.x) return;
  hi = hi_scale * sqrt(hi / pixels), lo = sqrt(lo / pixels);
  const double sig = 1 / (1 + b1 * pow(hi, b2));
  const double mad = hi > 0 ? pow(hi, sig) * pow(lo, 1 - sig) : 0;
  out[0] = isfinite(hi + lo) ? mad : hi + lo;  // NaN stays NaN: pow(NaN, 0) would be 1
  out[1] = hi, out[2] = lo;
}
