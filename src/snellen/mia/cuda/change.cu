// How far pictures are from what they were: the sums of (f − before)² and of f² of each block's
// samples, in float64. `before` becomes a copy of the pictures, which are `stride` samples from each
// other.
//
// Who holds what: everything is in global memory. A thread has samples one grid apart, of one
// picture after another, because there may be more pictures than a grid has rows.
//
// Barriers: only those of block_sum.
#include "mia/cuda/block_sum.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    change(const REAL *__restrict__ pictures, long long stride, int count, int size,
           REAL *__restrict__ before, double2 *__restrict__ partial) {
  for (int b = blockIdx.y; b < count; b += gridDim.y) {
    const REAL *picture = pictures + b * stride;
    double sum = 0, norm = 0;
    for (int k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const size_t here = (size_t)b * size + k;
      const double now = picture[k], step = now - before[here];
      before[here] = picture[k];
      sum += step * step;
      norm += now * now;
    }
    sum = block_sum(sum);
    norm = block_sum(norm);
    if (threadIdx.x == 0) {
      partial[(size_t)b * gridDim.x + blockIdx.x].x = sum;
      partial[(size_t)b * gridDim.x + blockIdx.x].y = norm;
    }
  }
}
