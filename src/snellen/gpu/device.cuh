// What all kernels share: fixed-size integer types, a float16, matrix products of a warp on tensor cores, and
// asynchronous copies to shared memory.
//
// Who holds what: operands and sums are in registers. All lanes of a warp call a product together; no
// function contains a barrier.
//
// Fragments are those of PTX's mma: g = lane / 4 is the row of A (and g + 8) or the column of B, and
// t = lane % 4 selects the inner dimension. Half precision uses m16n8k16; float32 uses m16n8k8 on
// TF32 parts. Turing (sm_75) has no TF32: there the same call multiplies in float32 by shuffles.
#pragma once

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

// A float16, of which CUDA's type needs a header.
struct Half {
  uint16_t bits;
  __device__ __forceinline__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};

constexpr unsigned ALL = 0xffffffffu;  // mask of all lanes of a warp

__device__ __forceinline__ float clip(float x, float low, float high) {
  return fminf(fmaxf(x, low), high);
}

__device__ __forceinline__ int clamp(int i, int last) { return min(max(i, 0), last); }

// Returns the greatest value, or the sum, of the four lanes that hold a row.
__device__ __forceinline__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 1));
  return fmaxf(x, __shfl_xor_sync(ALL, x, 2));
}

__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(ALL, x, 1);
  return x + __shfl_xor_sync(ALL, x, 2);
}

// Starts an asynchronous copy of 16 bytes to shared memory; `copied` waits for all copies that this
// thread has started.
__device__ __forceinline__ void copy_ahead(void *shared, const void *global) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(uint32_t(__cvta_generic_to_shared(shared))),
      "l"(global)
      : "memory");
#else
  *static_cast<uint4 *>(shared) = *static_cast<const uint4 *>(global);
#endif
}

__device__ __forceinline__ void copied() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Packs two floats as half-precision numbers in one word, the first in the low half.
__device__ __forceinline__ uint32_t halves(float low, float high) {
  uint32_t word;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
#else
  asm("{.reg .f16 a, b; cvt.rn.f16.f32 a, %1; cvt.rn.f16.f32 b, %2; mov.b32 %0, {a, b};}"
      : "=r"(word)
      : "f"(low), "f"(high));
#endif
  return word;
}

// The same; what is beyond the greatest half-precision number becomes that.
__device__ __forceinline__ uint32_t finite_halves(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t word = halves(low, high);
  asm("min.f16x2 %0, %0, %1;" : "+r"(word) : "r"(0x7bff7bffu));
  asm("max.f16x2 %0, %0, %1;" : "+r"(word) : "r"(0xfbfffbffu));
  return word;
#else
  return halves(clip(low, -65504, 65504), clip(high, -65504, 65504));
#endif
}

// Unpacks the two half-precision numbers of a word.
__device__ __forceinline__ float2 floats(uint32_t word) {
  float2 pair;
  asm("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
      : "=f"(pair.x), "=f"(pair.y)
      : "r"(word));
  return pair;
}

// The TF32 number (11 significant bits) nearest to x, and the rest: together 22 bits.
struct Parts {
  float high, low;
};

__device__ __forceinline__ Parts split(float x) {
#if __CUDA_ARCH__ >= 800
  uint32_t high, low;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(x));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(low) : "f"(x - __uint_as_float(high)));
  return {__uint_as_float(high), __uint_as_float(low)};
#else
  return {x, 0.f};
#endif
}

// The 32-bit address of what lies in shared memory.
__device__ __forceinline__ uint32_t shared_address(const void *shared) {
  return uint32_t(__cvta_generic_to_shared(shared));
}

// Reads a left operand of multiply_half from shared memory: 16 rows of 32 bytes. Lane i gives the address
// of the first (i < 16) or second 16 bytes of row i % 16, which are aligned to 16 bytes.
__device__ __forceinline__ void load_fragment(uint32_t (&a)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address)
               : "memory");
}

// d += a · b, m16n8k16 in half precision with float32 sums.
__device__ __forceinline__ void multiply_half(float (&d)[4], const uint32_t *a, uint32_t b0,
                                              uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
#pragma unroll
  for (int k = 0; k < 2; k++)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(k ? b1 : b0));
#endif
}

// d += a · b, m16n8k16 in half precision with half-precision sums, two per word, rounded once.
__device__ __forceinline__ void multiply_half(uint32_t (&d)[2], const uint32_t *a, uint32_t b0,
                                              uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
      "{%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  const float2 upper = floats(d[0]), lower = floats(d[1]);
  float sum[4] = {upper.x, upper.y, lower.x, lower.y};
  multiply_half(sum, a, b0, b1);
  d[0] = halves(sum[0], sum[1]), d[1] = halves(sum[2], sum[3]);
#endif
}

// Operations on both halves of a word: absolute values, a mask of all bits where a > b, maximum and
// minimum. Turing has no packed minimum and maximum; non-negative halves compare like integers.
__device__ __forceinline__ uint32_t abs2(uint32_t a) {
#if __CUDA_ARCH__ >= 800
  uint32_t b;
  asm("abs.f16x2 %0, %1;" : "=r"(b) : "r"(a));
  return b;
#else
  return a & 0x7fff7fffu;
#endif
}

__device__ __forceinline__ uint32_t above2(uint32_t a, uint32_t b) {
  uint32_t mask;
  asm("set.gt.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
}

__device__ __forceinline__ uint32_t max2(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 800
  uint32_t c;
  asm("max.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
#else
  return __vmaxu2(a, b);
#endif
}

__device__ __forceinline__ uint32_t min2(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 800
  uint32_t c;
  asm("min.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
#else
  return __vminu2(a, b);
#endif
}

__device__ __forceinline__ void multiply_tf32(float (&d)[4], const float (&a)[4], float b0,
                                              float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

__device__ __forceinline__ void multiply_shuffled(float (&d)[4], const float (&a)[4], float b0,
                                                  float b1) {
  const int row = threadIdx.x & 28, column = (threadIdx.x & 3) * 8;
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll 1  // hundreds of these in a kernel would take a minute to compile if unrolled
    for (int k = 0; k < 4; k++) {
      const float top = __shfl_sync(ALL, a[half * 2], row + k);
      const float bottom = __shfl_sync(ALL, a[half * 2 + 1], row + k);
      const float left = __shfl_sync(ALL, half ? b1 : b0, column + k);
      const float right = __shfl_sync(ALL, half ? b1 : b0, column + 4 + k);
      d[0] += top * left, d[1] += top * right, d[2] += bottom * left, d[3] += bottom * right;
    }
}

// d += (a + a_low) · (b + b_low), m16n8k8: float32 operands in TF32 parts; low · low (2⁻²² of the
// product) is omitted. A_LOW, B_LOW: whether the operand has a low part.
template <bool A_LOW, bool B_LOW>
__device__ __forceinline__ void multiply(float (&d)[4], const float (&a)[4],
                                         const float (&a_low)[4], const float (&b)[2],
                                         const float (&b_low)[2]) {
#if __CUDA_ARCH__ >= 800
  if (A_LOW) multiply_tf32(d, a_low, b[0], b[1]);
  if (B_LOW) multiply_tf32(d, a, b_low[0], b_low[1]);
  multiply_tf32(d, a, b[0], b[1]);
#else
  float whole[4];
#pragma unroll
  for (int i = 0; i < 4; i++) whole[i] = A_LOW ? a[i] + a_low[i] : a[i];
  multiply_shuffled(d, whole, B_LOW ? b[0] + b_low[0] : b[0], B_LOW ? b[1] + b_low[1] : b[1]);
#endif
}
