// Between match and regress: sorts patches by anchor, so that regress can multiply sixteen patches by
// one matrix.
//
// It is a counting sort in three kernels: a histogram (`count`), its exclusive prefix sum (`place`) and
// the scatter. The patches of each anchor start at a multiple of TILE, and the last tile is padded with
// −1, so that every tile of `order` has one anchor. The order within an anchor varies from run to run;
// no result depends on it.
//
// Who holds what: each block has a histogram of its patches in shared memory. Barriers: __syncthreads
// between clearing, counting and using it.
#include "gpu/device.cuh"

constexpr int TILE = 16;  // patches of one matrix product in regress
constexpr int THREADS = 1024;
constexpr int SHARE = 8;  // patches per thread

// Counts the patches of each anchor. `counts` must be zero before.
extern "C" __global__ void __launch_bounds__(THREADS)
    count(const uint16_t *__restrict__ index, int total, int *__restrict__ counts) {
  extern __shared__ int local[];  // [ANCHORS]
  for (int a = threadIdx.x; a < ANCHORS; a += THREADS) local[a] = 0;
  __syncthreads();
  const int first = blockIdx.x * THREADS * SHARE + threadIdx.x;
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    const int p = first + i * THREADS;
    if (p < total) atomicAdd(&local[index[p]], 1);
  }
  __syncthreads();
  for (int a = threadIdx.x; a < ANCHORS; a += THREADS)
    if (local[a]) atomicAdd(&counts[a], local[a]);
}

// Returns the sum of v over the threads before this one (an exclusive scan); `sum` gets that over all
// threads. All threads of the block call it.
__device__ int exclusive_scan(int v, int &sum) {
  __shared__ int warps[THREADS / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int here = v;
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    const int other = __shfl_up_sync(ALL, here, lanes);
    if (lane >= lanes) here += other;
  }
  __syncthreads();
  if (lane == 31) warps[warp] = here;
  __syncthreads();
  int ahead = 0;
  sum = 0;
#pragma unroll
  for (int w = 0; w < THREADS / 32; w++) {
    if (w < warp) ahead += warps[w];
    sum += warps[w];
  }
  return ahead + here - v;
}

// Computes where the patches of each anchor start, and the number of tiles. Grid: one block.
extern "C" __global__ void __launch_bounds__(THREADS)
    place(const int *__restrict__ counts, int *__restrict__ next, int *__restrict__ order,
          int *__restrict__ tiles) {
  int start = 0;
  for (int base = 0; base < ANCHORS; base += THREADS) {
    const int a = base + threadIdx.x;
    const int patches = a < ANCHORS ? counts[a] : 0;
    const int padded = (patches + TILE - 1) / TILE * TILE;
    int all;
    const int first = start + exclusive_scan(padded, all);
    if (a < ANCHORS) {
      next[a] = first;
      for (int i = patches; i < padded; i++) order[first + i] = -1;
    }
    start += all;
  }
  if (threadIdx.x == 0) *tiles = start / TILE;
}

// Writes each patch to the part of its anchor. A block reserves space for all its patches of an anchor
// at once, so that neighbours in the picture stay near each other.
extern "C" __global__ void __launch_bounds__(THREADS)
    scatter(const uint16_t *__restrict__ index, int total, int *__restrict__ next,
            int *__restrict__ order) {
  extern __shared__ int local[];  // [ANCHORS]: first the counts, then the positions
  for (int a = threadIdx.x; a < ANCHORS; a += THREADS) local[a] = 0;
  __syncthreads();
  const int first = blockIdx.x * THREADS * SHARE + threadIdx.x;
  int anchor[SHARE], rank[SHARE];
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    const int p = first + i * THREADS;
    anchor[i] = p < total ? index[p] : -1;
    if (p < total) rank[i] = atomicAdd(&local[anchor[i]], 1);
  }
  __syncthreads();
  for (int a = threadIdx.x; a < ANCHORS; a += THREADS)
    if (local[a]) local[a] = atomicAdd(&next[a], local[a]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < SHARE; i++)
    if (anchor[i] >= 0) order[local[anchor[i]] + rank[i]] = first + i * THREADS;
}
