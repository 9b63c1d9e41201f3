// Samples → grey 0 … 255 and what the eye makes of it, L = GAIN · I^POWER; whether the picture varies.
//
// One thread a pixel, a block 32 × 8 of them. For the distorted picture not L but its difference from
// the reference's: from the difference of the grey values, so that a small error keeps its digits.
#include "device.cuh"

__device__ __forceinline__ float lightness(float grey) { return GAIN * powf(grey, POWER); }

// L(to) − L(from).
__device__ __forceinline__ float change(float from, float to) {
  if (to > 2 * from) return lightness(to) - lightness(from);
  if (from == 0) return 0;
  return lightness(from) * expm1f(POWER * log1pf((to - from) / from));
}

// The level that L sees: the authors' table for 8-bit pictures ends at BRIGHTEST.
__device__ __forceinline__ float seen(float grey) { return clip(grey, 0, BRIGHTEST); }

// Every block whose samples are not all alike says so.
__device__ __forceinline__ void look(bool differs, int *varies) {
  if (__syncthreads_or(differs) && threadIdx.x + threadIdx.y == 0) *varies = 1;
}

extern "C" __global__ void __launch_bounds__(256)
    reference(const SAMPLE *__restrict__ plane, int pitch, int width, int height, float factor,
              float *__restrict__ grey, float *__restrict__ light, int *__restrict__ varies) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  bool differs = false;
  if (x < width && y < height) {
    const SAMPLE sample = plane[(size_t)y * pitch + x];
    const size_t here = (size_t)y * width + x;
    differs = sample != plane[0];
    grey[here] = sample * factor;
    light[here] = lightness(seen(sample * factor));
  }
  look(differs, varies);
}

extern "C" __global__ void __launch_bounds__(256)
    distorted(const SAMPLE *__restrict__ plane, int pitch, int width, int height, float factor,
              const float *__restrict__ reference, float *__restrict__ grey,
              float *__restrict__ error, int *__restrict__ varies) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  bool differs = false;
  if (x < width && y < height) {
    const SAMPLE sample = plane[(size_t)y * pitch + x];
    const size_t here = (size_t)y * width + x;
    differs = sample != plane[0];
    grey[here] = sample * factor;
    error[here] = change(seen(reference[here]), seen(sample * factor));
  }
  look(differs, varies);
}
