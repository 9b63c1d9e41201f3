// Converts samples to grey, or to lightness L = GAIN · I^POWER, relative to a level of the plane.
//
// The level, a mean of some samples, is subtracted because no filter needs the mean, and float32 keeps
// more digits of the rest; a plane of one value becomes exactly zero. For a distorted picture, `error`
// computes the difference of its lightness and the reference's: of integers from two entries of a
// float64 table, of floats from the difference of the grey values, without cancellation.
//
// Who holds what: `level` is one block; in the other kernels a thread has one pixel and a block 32 × 8.
// Barriers: only those of the sum in `level`.
#include "gpu/device.cuh"

#if TABLE
// Returns the table's entry of a sample; samples beyond the depth get the last one.
__device__ __forceinline__ double entry(int sample, const double *table) {
  return __ldg(table + min(sample, TABLE - 1));
}

__device__ __forceinline__ REAL lightness(REAL sample, REAL, const double *table) {
  return entry(int(sample), table);
}

__device__ __forceinline__ REAL change(SAMPLE from, SAMPLE to, REAL, const double *table) {
  return entry(to, table) - entry(from, table);
}
#else
__device__ __forceinline__ REAL curve(REAL grey) { return GAIN * pow(grey, POWER); }

// Clips a grey value: the authors' table for 8-bit pictures ends at BRIGHTEST.
__device__ __forceinline__ REAL clipped(REAL grey) { return min(max(grey, REAL(0)), BRIGHTEST); }

__device__ __forceinline__ REAL lightness(REAL sample, REAL factor, const double *) {
  return curve(clipped(sample * factor));
}

__device__ __forceinline__ REAL change(REAL one, REAL other, REAL factor, const double *) {
  const REAL from = clipped(one * factor), to = clipped(other * factor);
  if (to > 2 * from) return curve(to) - curve(from);
  if (from == 0) return 0;
  return curve(from) * expm1(POWER * log1p((to - from) / from));
}
#endif

// The level of a plane, as a sample value and as lightness.
struct Level {
  REAL sample, light;
};

extern "C" __global__ void __launch_bounds__(ACROSS *ACROSS)
    level(const SAMPLE *__restrict__ plane, int width, int height, REAL factor,
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
  const REAL mean = sum[0] / (ACROSS * ACROSS), sample = TABLE ? rint(mean) : REAL(SAMPLE(mean));
  *out = {sample, lightness(sample, factor, table)};
}

// Grey and lightness are separate kernels that both read the plane, which costs little and keeps the
// stages of MAD independent.
extern "C" __global__ void __launch_bounds__(256)
    grey(const SAMPLE *__restrict__ plane, int width, int height, REAL factor,
         const Level *__restrict__ level, REAL *__restrict__ out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t here = (size_t)y * width + x;
  out[here] = (plane[here] - level->sample) * factor;
}

extern "C" __global__ void __launch_bounds__(256)
    light(const SAMPLE *__restrict__ plane, int width, int height, REAL factor,
          const double *__restrict__ table, const Level *__restrict__ level,
          REAL *__restrict__ out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t here = (size_t)y * width + x;
  out[here] = change(SAMPLE(level->sample), plane[here], factor, table);
}

extern "C" __global__ void __launch_bounds__(256)
    error(const SAMPLE *__restrict__ reference, const SAMPLE *__restrict__ distorted, int width,
          int height, REAL factor, const double *__restrict__ table, REAL *__restrict__ out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t here = (size_t)y * width + x;
  out[here] = change(reference[here], distorted[here], factor, table);
}
