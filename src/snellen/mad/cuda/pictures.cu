// Converts the samples of a picture to a plane of luma as `mad.luma` does it, and looks for samples
// that lie outside of black and white.
//
// Who holds what: a thread has one pixel, in registers. Global memory is the limit. Barriers: none.
//
// Macros from the host: SAMPLE (float16: Half), CHANNELS (1 or 3), PLANE
// (type of luma: uint8_t, uint16_t, or double, clipped to 0 … peak); RED, GREEN, BLUE: coefficients;
// WHOLE: whether luma is an integer.
#include "gpu/device.cuh"

typedef long long Index;

extern "C" __global__ void __launch_bounds__(256)
    luma(const SAMPLE *__restrict__ picture, Index pixels, double least, double most, double peak,
         PLANE *__restrict__ plane, int *__restrict__ found) {
  const Index i = Index(blockIdx.x) * 256 + threadIdx.x;
  if (i >= pixels) return;
  double samples[CHANNELS];
  bool odd = false;
#pragma unroll
  for (int channel = 0; channel < CHANNELS; channel++) {
    samples[channel] = picture[i * CHANNELS + channel];
    odd |= !(samples[channel] >= least && samples[channel] <= most);  // also NaN
  }
  if (odd) *found = 1;
#if CHANNELS == 1
  double grey = samples[0];
#else
  // Products and sums are rounded one by one, as NumPy does it.
  double grey = __dadd_rn(__dadd_rn(__dmul_rn(samples[0], RED), __dmul_rn(samples[1], GREEN)),
                          __dmul_rn(samples[2], BLUE));
#endif
#if WHOLE && CHANNELS > 1
  grey = __dadd_rn(grey, 0.5);
#endif
#if !WHOLE
  grey = grey < 0 ? 0 : grey > peak ? peak : grey;
#endif
  plane[i] = PLANE(grey);
}
