// Scores of features with anchors, in half precision with float32 sums, as `match` wants them.
//
// A warp's features are the left operand and stay in registers: 16 · TILES of them. One call scores
// them with SPAN tiles of eight anchors in shared memory. Column 2t + b of tile j lands in lane t of
// each row as score[…][j][b] (upper row) and score[…][j][2 + b] (lower row), either way:
//
// - mma.sync, every architecture: each lane reads its part of a tile as one 16-byte vector;
// - wgmma (WARPGROUP, sm_90a): four warps together, anchors read by the tensor cores themselves.
#pragma once
#include "device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int VECTORS = SLABS * 32;  // 16-byte vectors of a tile of anchors

#if WARPGROUP

constexpr int SPAN = 16;
static_assert(TILES == 1);

// Anchors in shared memory: core matrices of 8 anchors × 16 bytes follow each other along the
// dimensions (128 bytes apart); tiles of eight anchors lie VECTORS · 16 bytes apart. No swizzle.
__device__ __forceinline__ uint64_t descriptor(const uint4 *anchors) {
  const uint64_t place = __cvta_generic_to_shared(anchors);
  return (place & 0x3ffff) >> 4 | uint64_t(128 >> 4) << 16 | uint64_t(VECTORS) << 32;
}

// score = (first ? 0 : score) + a · anchors, 64 × 128 × 16 for the four warps.
__device__ __forceinline__ void multiply_group(float (&score)[SPAN][4], const uint32_t *a,
                                               uint64_t anchors, bool first) {
#define QUAD(j) "+f"(score[j][0]), "+f"(score[j][1]), "+f"(score[j][2]), "+f"(score[j][3])
  asm volatile(
      "{.reg .pred sum; setp.eq.b32 sum, %69, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, sum, 1, 1, 0;}"
      : QUAD(0), QUAD(1), QUAD(2), QUAD(3), QUAD(4), QUAD(5), QUAD(6), QUAD(7),
        QUAD(8), QUAD(9), QUAD(10), QUAD(11), QUAD(12), QUAD(13), QUAD(14), QUAD(15)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(anchors), "r"(int(first)));
#undef QUAD
}

__device__ __forceinline__ void scores(float (&score)[TILES][SPAN][4],
                                       const uint32_t (&features)[TILES][SLABS][8],
                                       const uint4 *anchors, int) {
  const uint64_t first = descriptor(anchors);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++)
#pragma unroll
    for (int k = 0; k < 2; k++)  // 16 dimensions: two core matrices of 128 bytes
      multiply_group(score[0], features[0][slab] + 4 * k, first + slab * 32 + k * 16,
                     slab + k == 0);
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int j = 0; j < SPAN; j++)  // what the tensor cores wrote behind the compiler's back
#pragma unroll
    for (int i = 0; i < 4; i++) asm volatile("" : "+f"(score[0][j][i])::"memory");
}

// Makes what was written to shared memory visible to the tensor cores; before a barrier.
__device__ __forceinline__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#else

constexpr int SPAN = JOINED;

__device__ __forceinline__ void scores(float (&score)[TILES][SPAN][4],
                                       const uint32_t (&features)[TILES][SLABS][8],
                                       const uint4 *anchors, int lane) {
#pragma unroll
  for (int j = 0; j < SPAN; j++) {
#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int i = 0; i < 4; i++) score[m][j][i] = 0;
#pragma unroll
    for (int slab = 0; slab < SLABS; slab++) {
      const uint4 b = anchors[(j * SLABS + slab) * 32 + lane];
#pragma unroll
      for (int m = 0; m < TILES; m++) {
        multiply_half(score[m][j], features[m][slab], b.x, b.y);
        multiply_half(score[m][j], features[m][slab] + 4, b.z, b.w);
      }
    }
  }
}

__device__ __forceinline__ void publish() {}

#endif
