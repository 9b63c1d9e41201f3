// Products of a warpgroup: four warps multiply 64 × 16 by 16 × 32 or 16 × 64 on tensor cores, both in half
// precision and in shared memory, with float32 sums. Hopper's own: only code for sm_90a may call these.
//
// Who holds what: warp w of the four holds sums of rows 16 w … 16 w + 15, as those of multiply_half: lane
// 4g + t those of rows g and g + 8 and of columns 2t and 2t + 1 of each eight.
//
// Order: tensor cores work beside the threads. begin_products comes after the sums are set, end_products
// waits for all products. What threads have written to shared memory is seen by products after `publish`
// and a barrier.
#pragma once
#include "gpu/device.cuh"

using Sums = float[4][4];  // of 32 columns

// Describes an operand, rows or columns × 16: eight of them are 128 bytes one after another, of 8 inner
// numbers each, and the next eight follow; the other 8 inner numbers are `inner` bytes further. Adding n
// to it moves it by 16 n bytes. It is the lower word of PTX's descriptor, whose upper word is EIGHTS.
__device__ __forceinline__ uint32_t operand(const void *shared, int inner) {
  return uint32_t(inner / 16) << 16 | shared_address(shared) / 16;
}

constexpr uint32_t EIGHTS = 128 / 16;  // from eight rows or columns to the next

__device__ __forceinline__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// d += a · b, m64n32k16; the same for all threads of a warpgroup, which call it together.
__device__ __forceinline__ void multiply_by_warpgroup(Sums &d, uint32_t a, uint32_t b) {
  asm volatile(
      "{.reg .pred add; .reg .b64 a, b; setp.ne.b32 add, %19, 0;\n"
      "mov.b64 a, {%16, %18}; mov.b64 b, {%17, %18};\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
      "%10, %11, %12, %13, %14, %15}, a, b, add, 1, 1, 0, 0;}"
      : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
        "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3])
      : "r"(a), "r"(b), "r"(EIGHTS), "r"(1)
      : "memory");
}

// The same for 64 columns, m64n64k16: c has the sums of the first 32, d those of the others.
__device__ __forceinline__ void multiply_by_warpgroup(float (&sum)[2][4][4], uint32_t a, uint32_t b) {
  Sums &c = sum[0], &d = sum[1];
  asm volatile(
      "{.reg .pred add; .reg .b64 a, b; setp.ne.b32 add, %35, 0;\n"
      "mov.b64 a, {%32, %34}; mov.b64 b, {%33, %34};\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
      "%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31}, a, b, add, 1, 1, 0, 0;}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
        "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
        "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(d[0][0]), "+f"(d[0][1]),
        "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
        "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), "+f"(d[3][0]), "+f"(d[3][1]),
        "+f"(d[3][2]), "+f"(d[3][3])
      : "r"(a), "r"(b), "r"(EIGHTS), "r"(1)
      : "memory");
}

// Waits for the products that these sums are of.
template <typename T>
__device__ __forceinline__ void end_products(T &sums) {
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  float *const d = reinterpret_cast<float *>(sums);
#pragma unroll
  for (int i = 0; i < sizeof(T) / 4; i++) asm volatile("" : "+f"(d[i])::"memory");  // not read before
}

// Copies sums, so that the compiler sees that products of 32 and of 64 columns have sums of their own: it
// would wait after each of them otherwise.
__device__ __forceinline__ void copy(Sums &to, const Sums &from) {
#pragma unroll
  for (int i = 0; i < 16; i++)
    asm volatile("mov.b32 %0, %1;" : "=f"(to[i / 4][i % 4]) : "f"(from[i / 4][i % 4]));
}
