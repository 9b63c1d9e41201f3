// A product of 16 × 16 and 16 × 8 halves added to 16 × 8, as tensor cores sum it up: one for each warp.
#include "gpu/device.cuh"

extern "C" __global__ void half_sums(const uint32_t *a, const uint32_t *b, const uint32_t *added,
                                     uint32_t *out, int count) {
  const int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  if (n >= count) return;
  a += n * 128, b += n * 64, added += n * 64, out += n * 64;  // words of [16][16], [8][16], [16][8]
  const uint32_t left[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4],
                            a[(g + 8) * 8 + t + 4]};
  uint32_t sum[2] = {added[g * 4 + t], added[(g + 8) * 4 + t]};
  multiply_half(sum, left, b[g * 8 + t], b[g * 8 + t + 4]);
  out[g * 4 + t] = sum[0], out[(g + 8) * 4 + t] = sum[1];
}
