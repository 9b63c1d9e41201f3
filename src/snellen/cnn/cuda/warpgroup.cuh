// Products of a warpgroup: four warps multiply 64 × 16 by 16 × 32 on tensor cores, both in half precision
// and in shared memory, with float32 sums. Hopper's own: only code for sm_90a may call these.
//
// Who holds what: warp w of the four holds sums of rows 16 w … 16 w + 15, as those of multiply_half: lane
// 4g + t those of rows g and g + 8 and of columns 2t and 2t + 1 of each eight.
//
// Order: tensor cores work beside the threads. begin_products comes after the sums are set, end_products
// waits for all products. What threads have written to shared memory is seen by products after `publish`
// and a barrier.
#pragma once
#include "gpu/device.cuh"

// Describes an operand, rows or columns × 16: eight of them are 128 bytes one after another, of 8 inner
// numbers each, and the next eight follow; the other 8 inner numbers are `inner` bytes further. Adding n
// to it moves it by 16 n bytes.
__device__ __forceinline__ uint64_t operand(const void *shared, int inner) {
  return uint64_t(128 / 16) << 32 | uint32_t(inner / 16) << 16 | shared_address(shared) / 16;
}

__device__ __forceinline__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// d += a · b, m64n32k16; the same for all threads of a warpgroup, which call it together.
__device__ __forceinline__ void multiply_by_warpgroup(float (&d)[4][4], uint64_t a, uint64_t b) {
  asm volatile(
      "{.reg .pred add; setp.ne.b32 add, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
      "%10, %11, %12, %13, %14, %15}, %16, %17, add, 1, 1, 0, 0;}"
      : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
        "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3])
      : "l"(a), "l"(b), "r"(1)
      : "memory");
}

__device__ __forceinline__ void end_products(float (&d)[4][4]) {
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 16; i++) asm volatile("" : "+f"(d[i / 4][i % 4])::"memory");  // not read before
}
