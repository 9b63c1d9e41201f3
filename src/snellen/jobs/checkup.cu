// A check that kernels compile and run here: one block sums one number of each thread through dynamic
// shared memory, of which it is given more than the 48 KB that need no attribute. Barrier: __syncthreads.
extern "C" __global__ void total(const int *counts, int *sum) {
  extern __shared__ int held[];
  held[threadIdx.x] = counts[threadIdx.x];
  __syncthreads();
  if (threadIdx.x > 0) return;
  int all = 0;
  for (int i = 0; i < blockDim.x; i++) all += held[i];
  *sum = all;
}
