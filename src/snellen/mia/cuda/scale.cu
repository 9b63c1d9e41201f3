// Before the iterations: f, y, and h at about the sum of f. After them: PSFs of sum 1.
//
// Who holds what: everything is in global memory. `scale_start` has a block for each plane of h,
// each of whose threads has every THREADS-th sample; a thread of `scale_psf` has one sample of one
// plane after another.
//
// Barriers: only those of block_sum.
#include "mia/cuda/block_sum.cuh"

// Copies y and f, the first of the two halves that the iterations alternate between. `first` gets
// each plane of h divided by its sum, and `h` the same times the power of two that is next to the
// sum of f: both share one complex transform, in which the smaller one would lose its low bits.
extern "C" __global__ void __launch_bounds__(THREADS)
    scale_start(const float *__restrict__ y_in, const float *__restrict__ f_in,
                const float *__restrict__ h_in, int frames, int size, float *__restrict__ y,
                float *__restrict__ f, float *__restrict__ first, float *__restrict__ h) {
  const size_t plane = (size_t)blockIdx.x * size, picture = blockIdx.x / frames;
  const bool copies = blockIdx.x % frames == 0;
  double sum_h = 0, sum_f = 0;
  for (int k = threadIdx.x; k < size; k += THREADS) {
    const float sample = f_in[picture * size + k];
    sum_f += sample;
    sum_h += h_in[plane + k];
    y[plane + k] = y_in[plane + k];
    if (copies) f[2 * picture * size + k] = sample;
  }
  sum_f = block_sum(sum_f), sum_h = block_sum(sum_h);
  const double factor = exp2(rint(log2(sum_f)));
  for (int k = threadIdx.x; k < size; k += THREADS) {
    const float value = float(h_in[plane + k] / sum_h);
    first[plane + k] = value;
    h[plane + k] = float(value * factor);
  }
}

// Divides each plane of h by its sum, `totals`; one that has vanished becomes that of `first`.
extern "C" __global__ void __launch_bounds__(THREADS)
    scale_psf(const float *__restrict__ h, const float *__restrict__ first,
              const float *__restrict__ totals, int planes, int size, float *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const size_t at = (size_t)plane * size + k;
    const float total = totals[plane];
    out[at] = total > 0 ? h[at] / fmaxf(total, TINY) : first[at];
  }
}
