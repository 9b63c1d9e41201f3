// Multiplies a half spectrum by `count` of the 5 scales × 4 orientations of log-Gabor filters, which
// gives full spectra.
//
// Who holds what: a thread has one frequency. It reads the spectrum once, computes the 5 radial and 4
// angular factors (they are never in memory) and writes the product with each filter; writing is the
// limit. Barriers: none.
#include "frequency.cuh"

constexpr REAL log_half_wavelength[SCALES] = LOG_HALF_WAVELENGTHS;
constexpr REAL PI = 3.14159265358979323846;

extern "C" __global__ void __launch_bounds__(256)
    bank(const COMPLEX *__restrict__ spectrum, int width, int height, REAL scale, int first,
         int count, COMPLEX *__restrict__ out) {
  const int l = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  if (l >= width || j >= height) return;
  const int half = width / 2 + 1;
  const bool mirrored = l >= half;  // of a real plane: the conjugate of the opposite frequency
  const COMPLEX value =
      spectrum[mirrored ? (size_t)(j ? height - j : 0) * half + width - l : (size_t)j * half + l];

  const REAL x = frequency(l, width), y = frequency(j, height);
  REAL angular[ORIENTATIONS], radial[SCALES];
  const REAL theta = atan2(-y, x);
#pragma unroll
  for (int o = 0; o < ORIENTATIONS; o++) {
    REAL distance = theta - o * (PI / ORIENTATIONS);
    if (distance <= -PI) distance += 2 * PI;
    angular[o] = exp(-distance * distance / (2 * THETA_SIGMA * THETA_SIGMA));
  }
  const bool zero = j == 0 && l == 0;  // the filters do not pass the mean
  const REAL gain = zero ? 0 : scale, log_radius = zero ? 0 : REAL(.5) * log(x * x + y * y);
#pragma unroll
  for (int s = 0; s < SCALES; s++) {
    const REAL distance = log_radius + log_half_wavelength[s];
    radial[s] = gain * exp(-distance * distance / (2 * LOG_SIGMA * LOG_SIGMA));
  }

  const size_t plane = (size_t)width * height;
  out += (size_t)j * width + l;
#pragma unroll
  for (int id = 0; id < SCALES * ORIENTATIONS; id++) {
    if (id < first || id >= first + count) continue;
    const REAL weight = radial[id / ORIENTATIONS] * angular[id % ORIENTATIONS];
    const REAL sign = mirrored ? -1 : 1;
    out[(id - first) * plane] = {value.x * weight, sign * value.y * weight};
  }
}
