// Samples → grey 0 … 255 and what the eye makes of it, L = GAIN · I^POWER; whether the picture varies.
//
// One thread a pixel, a block 32 × 8 of them. For the distorted picture not L but by how much it is
// above the reference's, so that a small error keeps its digits: of integers the difference of two
// entries of a float64 table, of floats from the difference of the grey values.
#include "device.cuh"

#if TABLE
__device__ __forceinline__ float lightness(SAMPLE sample, float, const double *table) {
  return float(__ldg(table + sample));
}

__device__ __forceinline__ float change(SAMPLE from, SAMPLE to, float, const double *table) {
  return float(__ldg(table + to) - __ldg(table + from));
}
#else
__device__ __forceinline__ float curve(float grey) { return GAIN * powf(grey, POWER); }

// The level that L sees: the authors' table for 8-bit pictures ends at BRIGHTEST.
__device__ __forceinline__ float seen(float grey) { return clip(grey, 0, BRIGHTEST); }

__device__ __forceinline__ float lightness(float sample, float factor, const double *) {
  return curve(seen(sample * factor));
}

__device__ __forceinline__ float change(float one, float other, float factor, const double *) {
  const float from = seen(one * factor), to = seen(other * factor);
  if (to > 2 * from) return curve(to) - curve(from);
  if (from == 0) return 0;
  return curve(from) * expm1f(POWER * log1pf((to - from) / from));
}
#endif

// Every block whose samples are not all alike says so.
__device__ __forceinline__ void look(bool differs, int *varies) {
  if (__syncthreads_or(differs) && threadIdx.x + threadIdx.y == 0) *varies = 1;
}

extern "C" __global__ void __launch_bounds__(256)
    reference(const SAMPLE *__restrict__ plane, int width, int height, float factor,
              const double *__restrict__ table, float *__restrict__ grey,
              float *__restrict__ light, int *__restrict__ varies) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  bool differs = false;
  if (x < width && y < height) {
    const size_t here = (size_t)y * width + x;
    const SAMPLE sample = plane[here];
    differs = sample != plane[0];
    grey[here] = sample * factor;
    light[here] = lightness(sample, factor, table);
  }
  look(differs, varies);
}

extern "C" __global__ void __launch_bounds__(256)
    distorted(const SAMPLE *__restrict__ plane, int width, int height, float factor,
              const double *__restrict__ table, const SAMPLE *__restrict__ reference,
              float *__restrict__ grey, float *__restrict__ error, int *__restrict__ varies) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  bool differs = false;
  if (x < width && y < height) {
    const size_t here = (size_t)y * width + x;
    const SAMPLE sample = plane[here];
    differs = sample != plane[0];
    grey[here] = sample * factor;
    error[here] = change(reference[here], sample, factor, table);
  }
  look(differs, varies);
}
