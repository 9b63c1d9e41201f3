// What MIA computes between cuFFT's transforms, for periods of any size. docs/mia.md explains the
// symbols: f is the estimate, h its PSFs, g = h ⊛ f, y the observed frames; F, H … are spectra.
//
// Who holds what: everything is in global memory. A thread has one frequency or sample, or samples
// one grid apart, of one plane after another, because there may be more planes than a grid has
// rows.
//
// Barriers: only those of block_sum. A sum is computed in two kernels, first one number for each
// block, then these in a fixed order, so that it has the same bits in each run. All divisions are
// IEEE's.
#include "mia/cuda/block_sum.cuh"

// Returns the value, or the floor where the value is below it or NaN.
__device__ __forceinline__ REAL at_least(REAL value, REAL floor) {
  return value > floor ? value : floor;
}

// G = F · H · scale. `scale` undoes the factor of a forward and an inverse transform.
extern "C" __global__ void __launch_bounds__(THREADS)
    blur_spectra(const COMPLEX *__restrict__ f_spectrum, const COMPLEX *__restrict__ h_spectrum,
                 int planes, int frames, int size, REAL scale, COMPLEX *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const COMPLEX f = f_spectrum[(size_t)(plane / frames) * size + k];
    const size_t here = (size_t)plane * size + k;
    const COMPLEX h = h_spectrum[here];
    out[here].x = scale * (f.x * h.x - f.y * h.y);
    out[here].y = scale * (f.x * h.y + f.y * h.x);
  }
}

// The spectra of correlations. `f_out` gets Σ spectra · conj H · scale over the frames of a
// picture, with `mean` each divided by frames · Σh. `h_out` gets spectra · conj F · scale of each
// frame, unless it is null; it may be `spectra`.
extern "C" __global__ void __launch_bounds__(THREADS)
    correlate_spectra(const COMPLEX *spectra, const COMPLEX *__restrict__ h_spectrum,
                      const COMPLEX *__restrict__ f_spectrum, int pictures, int frames, int size,
                      REAL scale, bool mean, COMPLEX *__restrict__ f_out, COMPLEX *h_out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    const COMPLEX f = f_spectrum[(size_t)b * size + k];
    REAL real = 0, imaginary = 0;
#pragma unroll 1
    for (int m = 0; m < frames; m++) {
      const size_t plane = ((size_t)b * frames + m) * size;
      const COMPLEX s = spectra[plane + k], h = h_spectrum[plane + k];
      const REAL share = mean ? scale / (frames * h_spectrum[plane].x) : scale;
      real += share * (s.x * h.x + s.y * h.y);
      imaginary += share * (s.y * h.x - s.x * h.y);
      if (!h_out) continue;
      h_out[plane + k].x = scale * (s.x * f.x + s.y * f.y);
      h_out[plane + k].y = scale * (s.y * f.x - s.x * f.y);
    }
    f_out[(size_t)b * size + k].x = real;
    f_out[(size_t)b * size + k].y = imaginary;
  }
}

// Replaces g by y / g, with the variance of the read noise added to both; by 1 where nothing was
// observed.
extern "C" __global__ void __launch_bounds__(THREADS)
    ratio(const REAL *__restrict__ y, long long count, REAL variance, REAL *__restrict__ g) {
  const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < count) g[i] = y[i] >= 0 ? (y[i] + variance) / at_least(g[i] + variance, EPS) : REAL(1);
}

// Replaces g by y, except where nothing was observed.
extern "C" __global__ void __launch_bounds__(THREADS)
    insert_observed(const REAL *__restrict__ y, long long count, REAL *__restrict__ g) {
  const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < count && y[i] >= 0) g[i] = y[i];
}

// Returns one component of ∇f / |∇f|: along x, or along y with `down`.
__device__ __forceinline__ REAL slope(REAL here, REAL right, REAL below, bool down) {
  const REAL x = right - here, y = below - here;
  return (down ? y : x) / sqrt(x * x + y * y + TV_EPS);
}

// T = max(1 − weight · div(∇f / |∇f|), TV_LEAST), the divisor of total variation.
extern "C" __global__ void __launch_bounds__(THREADS)
    total_variation(const REAL *__restrict__ pictures, int planes, int height, int width,
                    REAL weight, REAL *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x, size = height * width;
  if (k >= size) return;
  const int i = k / width, j = k % width;
  const int up = (i ? i - 1 : height - 1) * width, down = (i + 1 < height ? i + 1 : 0) * width;
  const int left = j ? j - 1 : width - 1, right = j + 1 < width ? j + 1 : 0;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const REAL *f = pictures + (size_t)plane * size, *row = f + i * width;
    REAL divergence = slope(row[j], row[right], f[down + j], false);
    divergence -= slope(row[left], row[j], f[down + left], false);
    divergence += slope(row[j], row[right], f[down + j], true);
    divergence -= slope(f[up + j], f[up + right], row[j], true);
    out[(size_t)plane * size + k] = at_least(1 - weight * divergence, TV_LEAST);
  }
}

// f ← f · max(correction, LEAST) / T. The correction is numerator / max(denominator, EPS), or the
// numerator where `denominator` is null. T is 1 where `tv_divisor` is null.
extern "C" __global__ void __launch_bounds__(THREADS)
    update_estimate(const REAL *__restrict__ numerator, const REAL *__restrict__ denominator,
                    const REAL *__restrict__ tv_divisor, long long count, REAL *__restrict__ f) {
  const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i >= count) return;
  REAL correction = numerator[i];
  if (denominator) correction /= at_least(denominator[i], EPS);
  const REAL estimate = f[i] * at_least(correction, LEAST);
  f[i] = tv_divisor ? estimate / tv_divisor[i] : estimate;
}

// Computes the sum of each block's samples of PSFs.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_psf(const REAL *__restrict__ h, int planes, int size, double *__restrict__ partial) {
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    double sum = 0;
    for (int k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS)
      sum += h[(size_t)plane * size + k];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[(size_t)plane * gridDim.x + blockIdx.x] = sum;
  }
}

// Replaces the numerator by h · max(correction, 0) and computes the sum of each block. The
// correction is numerator / max(denominator, EPS · Σf), or 0 where the divisor is 0; Σf is F at
// frequency 0. Without a denominator the correction is the numerator.
extern "C" __global__ void __launch_bounds__(THREADS)
    correct_psf(const REAL *__restrict__ h, const REAL *__restrict__ denominator,
                const COMPLEX *__restrict__ f_spectrum, int frequencies, int planes, int frames,
                int size, REAL *__restrict__ numerator, double *__restrict__ partial) {
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const REAL floor = denominator ? EPS * f_spectrum[(size_t)(plane / frames) * frequencies].x : 0;
    double sum = 0;
    for (int k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const size_t here = (size_t)plane * size + k;
      REAL correction = numerator[here];
      if (denominator) {
        const REAL divisor = at_least(denominator[here], floor);
        correction = divisor > 0 ? correction / divisor : 0;
      }
      const REAL value = h[here] * at_least(correction, 0);
      numerator[here] = value;
      sum += value;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[(size_t)plane * gridDim.x + blockIdx.x] = sum;
  }
}

// h ← the result of `correct_psf` divided by its sum. h stays where that sum is 0, as of a black
// picture.
extern "C" __global__ void __launch_bounds__(THREADS)
    normalise_psf(const REAL *__restrict__ corrected, const double *__restrict__ partial,
                  int planes, int size, REAL *__restrict__ h) {
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    double sum = 0;
    for (int k = threadIdx.x; k < gridDim.x; k += THREADS)
      sum += partial[(size_t)plane * gridDim.x + k];
    sum = block_sum(sum);
    if (!(sum > 0)) continue;
    for (int k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const size_t here = (size_t)plane * size + k;
      h[here] = corrected[here] / sum;
    }
  }
}

// The data fidelity of each block's samples: the sum of y ln(y / g) − y + g (the I-divergence,
// `poisson`) or of (y − g)² over the observed samples, and their number.
extern "C" __global__ void __launch_bounds__(THREADS)
    data_fidelity(const REAL *__restrict__ y, const REAL *__restrict__ g, int pictures,
                  long long size, bool poisson, double2 *__restrict__ partial) {
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    double sum = 0, count = 0;
    for (long long k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const double observed = y[b * size + k], blurred = g[b * size + k];
      if (observed < 0) continue;
      count += 1;
      if (poisson) {
        const double model = blurred > EPS ? blurred : EPS;
        sum += model - observed + (observed > 0 ? observed * log(observed / model) : 0);
      } else {
        sum += (observed - blurred) * (observed - blurred);
      }
    }
    sum = block_sum(sum);
    count = block_sum(count);
    if (threadIdx.x == 0) {
      partial[(size_t)b * gridDim.x + blockIdx.x].x = sum;
      partial[(size_t)b * gridDim.x + blockIdx.x].y = count;
    }
  }
}
