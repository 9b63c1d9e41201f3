// The data fidelity, from the spectra of f and of the PSFs.
//
// Who holds what: everything is in global memory. A thread of `multiply_spectra` has one frequency
// of one plane after another; `data_fidelity` has a block for each picture, each of whose threads
// has every THREADS-th sample of all frames.
//
// Barriers: only those of block_sum.
#include "mia/cuda/block_sum.cuh"

// Multiplies the half spectra of PSFs by that of their picture.
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_spectra(const float2 *__restrict__ f, float2 *__restrict__ h, int planes, int frames,
                     int size) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const float2 a = f[(size_t)(plane / frames) * size + k], b = h[(size_t)plane * size + k];
    h[(size_t)plane * size + k] = {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
  }
}

// Computes the mean I-divergence or squared error of y and g = h ⊛ f over what was observed. Each
// operation is rounded by itself.
extern "C" __global__ void __launch_bounds__(THREADS)
    data_fidelity(const float *__restrict__ y, const float *__restrict__ g, int size,
                  double *__restrict__ out) {
  const size_t first = (size_t)blockIdx.x * size;
  double sum = 0, count = 0;
  for (int k = threadIdx.x; k < size; k += THREADS) {
    const float seen = y[first + k];
    if (!(seen >= 0)) continue;
    count++;
    const float model = g[first + k];
    if (POISSON) {
      const float above = model < EPSILON ? EPSILON : model;  // NaN stays
      const float ratio = logf(fmaxf(seen, 1e-30f) / above);
      sum += __fadd_rn(__fsub_rn(__fmul_rn(seen, ratio), seen), above);
    } else {
      const float error = seen - model;
      sum += __fmul_rn(error, error);
    }
  }
  sum = block_sum(sum), count = block_sum(count);
  if (threadIdx.x == 0) out[blockIdx.x] = sum / fmax(count, 1.0);
}
