// The sum over the THREADS threads of a block, in a fixed order; all of them get it.
#pragma once

__device__ inline double total(double value) {
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
