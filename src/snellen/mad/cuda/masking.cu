// Where an error is seen: statistics of the filtered planes' blocks, and the mask that they give.
//
// A block of threads walks down a strip of THREADS tiles of 4 × 4 pixels (moments.cuh), a thread for
// each tile across; each pixel is read once.
#include "moments.cuh"

struct Strip {
  int column, first, last;
  bool inside, whole;
};

// The part of the grid of blocks that is this block of threads' work.
__device__ __forceinline__ Strip strip(int rows, int columns, int rows_each) {
  const int column = blockIdx.x * (THREADS - HALO) + threadIdx.x, first = blockIdx.y * rows_each;
  return {column, first, min(first + rows_each, rows), column < columns + HALO,
          column < columns && threadIdx.x < THREADS - HALO};
}

__device__ __forceinline__ void tile(const float *plane, int width, int row, int column,
                                     float (&x)[PIXELS]) {
  const float *corner = plane + (size_t)row * STEP * width + column * STEP;
#pragma unroll
  for (int i = 0; i < STEP; i++)
#pragma unroll
    for (int j = 0; j < STEP; j++) x[i * STEP + j] = __ldg(corner + (size_t)i * width + j);
}

// Of the filtered reference: each block's mean, and the deviation of its top left 8 × 8.
extern "C" __global__ void __launch_bounds__(THREADS)
    describe(const float *__restrict__ plane, int width, int rows, int columns, int rows_each,
             float *__restrict__ mean, float *__restrict__ deviation) {
  const Strip s = strip(rows, columns, rows_each);
  march<2>(
      s.first, s.last, s.inside,
      [&](int row, float(&x)[PIXELS]) { tile(plane, width, row, s.column, x); },
      [&](int row, const Moments<2> &block, const Moments<2> &quarter) {
        if (!s.whole) return;
        const size_t here = (size_t)row * columns + s.column;
        mean[here] = block.mean;
        deviation[here] = sqrtf(quarter.power[0] / (4 * PIXELS - 1));
      });
}

// The least deviation of the block's 8 × 8 and of those that a probe PROBE pixels down, right or both
// meets; a probe counts while it is less than the plane's size − 15.
__device__ __forceinline__ float least(const float *deviation, int row, int column, int columns,
                                       int width, int height) {
  const float *here = deviation + (size_t)row * columns + column;
  const bool right = column * STEP + PROBE < width - 15, down = row * STEP + PROBE < height - 15;
  float found = here[0];
  if (right) found = fminf(found, here[1]);
  if (down) found = fminf(found, here[columns]);
  if (right && down) found = fminf(found, here[columns + 1]);
  return found;
}

// Of the filtered error: by how much its ln contrast is over what hides it; 0 where nothing is seen.
extern "C" __global__ void __launch_bounds__(THREADS)
    visibility(const float *__restrict__ error, int width, int height, int rows, int columns,
               int rows_each, const float *__restrict__ mean, const float *__restrict__ deviation,
               float *__restrict__ mask) {
  const Strip s = strip(rows, columns, rows_each);
  march<2>(
      s.first, s.last, s.inside,
      [&](int row, float(&x)[PIXELS]) { tile(error, width, row, s.column, x); },
      [&](int row, const Moments<2> &block, const Moments<2> &) {
        if (!s.whole) return;
        const size_t here = (size_t)row * columns + s.column;
        const float m = mean[here];
        const float hides = logf(least(deviation, row, s.column, columns, width, height) / m);
        const float over = logf(sqrtf(block.power[0] / (BLOCK - 1)) / m) - fmaxf(hides, THRESHOLD);
        mask[here] = m >= GATE && over > 0 ? over : 0;
      });
}
