// The second pass of step 5a of A+: compares the features that `match` listed as undecided with all
// anchors in float32; all `count` features if `list` is null, for models of more dimensions than `match`
// takes.
//
// Who holds what: a block has SETTLED features in shared memory, dimension by dimension, and reads them
// as broadcasts. A warp has 128 anchors at a time, four per lane, read as 16-byte vectors of a table
// that is stored dimension by dimension.
//
// Barriers: __syncthreads after the features are loaded, and before and after the block's reduction.
#include "best.cuh"
#include "gpu/device.cuh"

constexpr int WARPS = 8, SETTLED = 8;

extern "C" __global__ void __launch_bounds__(WARPS * 32, 2)
    settle(const float *__restrict__ features, int count, const float4 *__restrict__ anchors,
           int width, const int *__restrict__ listed, const int *__restrict__ list,
           uint16_t *__restrict__ index) {
  extern __shared__ float feature[];  // [DIMS][SETTLED]
  __shared__ Best bests[WARPS][SETTLED];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int total = listed ? *listed : count;

  for (int first = blockIdx.x * SETTLED; first < total; first += gridDim.x * SETTLED) {
    for (int i = threadIdx.x; i < SETTLED * DIMS; i += WARPS * 32) {
      const int entry = min(first + i / DIMS, total - 1);
      const int p = list ? list[entry] : entry;
      feature[i % DIMS * SETTLED + i / DIMS] = features[(size_t)p * DIMS + i % DIMS];
    }
    __syncthreads();
    Best best[SETTLED];
#pragma unroll
    for (int q = 0; q < SETTLED; q++) best[q] = {0.f, 0};
    for (int a = warp * 32 + lane; a < width; a += WARPS * 32) {
      float4 score[SETTLED] = {};
#pragma unroll 4
      for (int k = 0; k < DIMS; k++) {
        const float4 w = __ldg(anchors + (size_t)k * width + a);
#pragma unroll
        for (int q = 0; q < SETTLED; q++) {
          const float f = feature[k * SETTLED + q];
          score[q].x += f * w.x, score[q].y += f * w.y, score[q].z += f * w.z,
              score[q].w += f * w.w;
        }
      }
#pragma unroll
      for (int q = 0; q < SETTLED; q++) {
        best[q] = better(best[q], {fabsf(score[q].x), a * 4});
        best[q] = better(best[q], {fabsf(score[q].y), a * 4 + 1});
        best[q] = better(best[q], {fabsf(score[q].z), a * 4 + 2});
        best[q] = better(best[q], {fabsf(score[q].w), a * 4 + 3});
      }
    }
#pragma unroll
    for (int q = 0; q < SETTLED; q++) {
#pragma unroll
      for (int lanes = 16; lanes; lanes /= 2)
        best[q] = better(best[q], {__shfl_xor_sync(ALL, best[q].score, lanes),
                                   __shfl_xor_sync(ALL, best[q].anchor, lanes)});
      if (lane == 0) bests[warp][q] = best[q];
    }
    __syncthreads();
    if (threadIdx.x < SETTLED && first + threadIdx.x < total) {
      Best found = bests[0][threadIdx.x];
      for (int w = 1; w < WARPS; w++) found = better(found, bests[w][threadIdx.x]);
      const int entry = first + threadIdx.x;
      index[list ? list[entry] : entry] = found.anchor;
    }
    __syncthreads();
  }
}
