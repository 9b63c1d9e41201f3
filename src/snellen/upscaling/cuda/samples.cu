// Converts the samples of a picture, channels interleaved, to the planes that are enlarged (`split`) and
// back (`join`), and looks for samples that cannot be enlarged (`check`).
//
// Who holds what: a thread has one pixel, or with `check` every so many samples, in registers. Global
// memory is the limit. Barriers: none.
//
// Macros from the host: SAMPLE (with HALF = 1 it is Half), INTEGER (whether samples are integers),
// PLANE (type of luma's plane), CHANNELS (1, 3 or 4; alpha comes last); TO_YCC, TO_RGB:
// matrices, rows one after another; MOST: the greatest magnitude of a sample (of Half its bits).
#include "gpu/device.cuh"

typedef long long Index;

// Returns a result as a sample: an integer is rounded half to even and clipped to 0 … limit, a float is
// clipped to ±limit.
__device__ __forceinline__ SAMPLE sample(float x, float limit) {
#if INTEGER
  return SAMPLE(rintf(clip(x, 0, limit)));
#elif HALF
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(clip(x, -limit, limit)));
  return {bits};
#else
  return SAMPLE(clip(x, -limit, limit));
#endif
}

#if CHANNELS > 1
__device__ constexpr float to_ycc[9] = TO_YCC, to_rgb[9] = TO_RGB;

// Returns a row of a matrix times (a, b, c). Products and sums are rounded one by one, as NumPy does it.
__device__ __forceinline__ float mix(const float *row, float a, float b, float c) {
  return __fadd_rn(__fadd_rn(__fmul_rn(a, row[0]), __fmul_rn(b, row[1])), __fmul_rn(c, row[2]));
}
#endif

extern "C" __global__ void __launch_bounds__(256)
    split(const SAMPLE *__restrict__ picture, Index pixels, PLANE *__restrict__ luma,
          float *__restrict__ cb, float *__restrict__ cr, float *__restrict__ alpha) {
  const Index i = Index(blockIdx.x) * 256 + threadIdx.x;
  if (i >= pixels) return;
  const SAMPLE *pixel = picture + i * CHANNELS;
#if CHANNELS == 1
  luma[i] = PLANE(float(*pixel));
#else
  const float r = pixel[0], g = pixel[1], b = pixel[2];
  luma[i] = mix(to_ycc, r, g, b);
  cb[i] = mix(to_ycc + 3, r, g, b);
  cr[i] = mix(to_ycc + 6, r, g, b);
  if (CHANNELS == 4) alpha[i] = pixel[CHANNELS - 1];
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    join(const PLANE *__restrict__ luma, const float *__restrict__ cb,
         const float *__restrict__ cr, const float *__restrict__ alpha, Index pixels,
         float limit, SAMPLE *__restrict__ picture) {
  const Index i = Index(blockIdx.x) * 256 + threadIdx.x;
  if (i >= pixels) return;
  SAMPLE *pixel = picture + i * CHANNELS;
#if CHANNELS == 1
  *pixel = sample(luma[i], limit);
#else
  const float y = luma[i], u = cb[i], v = cr[i];
#pragma unroll
  for (int channel = 0; channel < 3; channel++)
    pixel[channel] = sample(mix(to_rgb + 3 * channel, y, u, v), limit);
  if (CHANNELS == 4) pixel[CHANNELS - 1] = sample(alpha[i], limit);
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    check(const SAMPLE *__restrict__ samples, Index count, int *__restrict__ found) {
  bool odd = false;
  for (Index i = Index(blockIdx.x) * 256 + threadIdx.x; i < count;
       i += Index(gridDim.x) * 256) {
#if INTEGER
    odd |= samples[i] > MOST;
#elif HALF
    odd |= (samples[i].bits & 0x7fff) > MOST;  // in the order of magnitudes; then infinity, NaN
#else
    odd |= !(fabs(samples[i]) <= MOST);  // also NaN
#endif
  }
  if (odd) *found = 1;
}
