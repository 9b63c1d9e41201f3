// Samples → grey, or what the eye makes of it, L = GAIN · I^POWER: above a level of the plane's own.
//
// No filter of ours needs the mean, and without it float32 has digits left for the rest: so a level is
// taken off, of some of the samples, and of a plane of one value exactly nothing is left. Of a
// distorted picture not L is wanted but by how much it is above the reference's: of integers the
// difference of two entries of a float64 table, of floats from the difference of the grey values.
// `level` is one block; else one thread a pixel, a block 32 × 8 of them.
#include "device.cuh"

#if TABLE
__device__ __forceinline__ float lightness(float sample, float, const double *table) {
  return float(table[int(sample)]);
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

// The level of a plane: a sample's value, and its lightness.
struct Level {
  float sample, light;
};

extern "C" __global__ void __launch_bounds__(ACROSS * ACROSS)
    level(const SAMPLE *__restrict__ plane, int width, int height, float factor,
          const double *__restrict__ table, Level *__restrict__ out) {
  __shared__ double sum[ACROSS * ACROSS];
  const int t = threadIdx.x;
  const int x = (2 * (t % ACROSS) + 1) * width / (2 * ACROSS);
  const int y = (2 * (t / ACROSS) + 1) * height / (2 * ACROSS);
  sum[t] = plane[(size_t)y * width + x];
  for (int half = ACROSS * ACROSS / 2; half; half /= 2) {
    __syncthreads();
    if (t < half) sum[t] += sum[t + half];
  }
  if (t) return;
  const float mean = sum[0] / (ACROSS * ACROSS), sample = TABLE ? rintf(mean) : mean;
  *out = {sample, lightness(sample, factor, table)};
}

// The plane's samples are read twice, for grey and for lightness: that costs little, and so each stage
// starts by itself.
extern "C" __global__ void __launch_bounds__(256)
    grey(const SAMPLE *__restrict__ plane, int width, int height, float factor,
         const Level *__restrict__ level, float *__restrict__ out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t here = (size_t)y * width + x;
  out[here] = (plane[here] - level->sample) * factor;
}

extern "C" __global__ void __launch_bounds__(256)
    light(const SAMPLE *__restrict__ plane, int width, int height, float factor,
          const double *__restrict__ table, const Level *__restrict__ level,
          float *__restrict__ out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t here = (size_t)y * width + x;
  out[here] = change(SAMPLE(level->sample), plane[here], factor, table);
}

extern "C" __global__ void __launch_bounds__(256)
    error(const SAMPLE *__restrict__ reference, const SAMPLE *__restrict__ distorted, int width,
          int height, float factor, const double *__restrict__ table, float *__restrict__ out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t here = (size_t)y * width + x;
  out[here] = change(reference[here], distorted[here], factor, table);
}
