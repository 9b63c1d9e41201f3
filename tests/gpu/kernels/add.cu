// Kernels for the tests of Kernel: one that is right, two that take local memory.
#include "weight.cuh"

extern "C" __global__ void add(const float *x, const float *y, float *out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = x[i] + WEIGHT * weight(y[i]);
}

// A block's numbers backwards, by way of dynamic shared memory.
extern "C" __global__ void reverse(const float *x, float *out) {
  extern __shared__ float held[];
  held[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}

// Each argument as it arrived.
extern "C" __global__ void arguments(const float *none, int i, float f, bool b, long long l,
                                     double d, double *out) {
  out[0] = none == nullptr;
  out[1] = i;
  out[2] = f;
  out[3] = b;
  out[4] = l;
  out[5] = d;
}

// 100 numbers wait in registers, of which a block of 1024 threads leaves 64 for each.
extern "C" __global__ void __launch_bounds__(1024, 1) spills(float *x, int step) {
  float held[100];
#pragma unroll
  for (int i = 0; i < 100; i++) held[i] = x[i * step];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 100; i++) x[i * step] = held[99 - i] * held[i];
}

// An index that is only known at run time: no registers, but 400 bytes of local memory.
extern "C" __global__ void indexed(float *x, int step) {
  float held[100];
  for (int i = 0; i < 100; i++) held[i] = x[i];
  for (int i = 0; i < 100; i++) x[i] = held[i * step % 100];
}
