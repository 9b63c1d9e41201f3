// The sum of one number of each of the THREADS threads of a block, in a fixed order, so that it has
// the same bits in each run. All threads call it, and all get the sum.
//
// Barriers: __syncthreads before the first read and after the last one, so that it may be called
// again.
#pragma once

__device__ inline double block_sum(double value) {
  __shared__ double part[THREADS];
  part[threadIdx.x] = value;
  for (int half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  __syncthreads();
  const double sum = part[0];
  __syncthreads();
  return sum;
}
