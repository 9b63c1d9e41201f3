// What MIA does between transforms of whole frames: see docs/mia.md for the letters.
//
// Each thread has a frequency, or samples a grid apart, of one plane after another: `planes` may be
// more than a grid has rows. Sums are of one number for each block, added in a fixed order: the same
// bytes each run. All divisions are IEEE's.
#include "mia/cuda/block_sum.cuh"

__device__ __forceinline__ REAL least(REAL value, REAL floor) { return value > floor ? value : floor; }

// G = F · H · scale; `scale` undoes what transforms there and back multiply by.
extern "C" __global__ void __launch_bounds__(THREADS)
    models(const COMPLEX *__restrict__ picture, const COMPLEX *__restrict__ blurs, int planes,
           int frames, int size, REAL scale, COMPLEX *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const COMPLEX f = picture[(size_t)(plane / frames) * size + k];
    const size_t here = (size_t)plane * size + k;
    const COMPLEX h = blurs[here];
    out[here].x = scale * (f.x * h.x - f.y * h.y);
    out[here].y = scale * (f.x * h.y + f.y * h.x);
  }
}

// Σ spectra · conj H · scale over a picture's frames, each divided by frames · Σh where `mean`; and
// spectra · conj F · scale, of each frame, where `back`, which may be the spectra, is not null.
extern "C" __global__ void __launch_bounds__(THREADS)
    corrections(const COMPLEX *spectra, const COMPLEX *__restrict__ blurs,
                const COMPLEX *__restrict__ picture, int pictures, int frames, int size,
                REAL scale, bool mean, COMPLEX *__restrict__ out, COMPLEX *back) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    const COMPLEX f = picture[(size_t)b * size + k];
    REAL real = 0, imaginary = 0;
#pragma unroll 1
    for (int m = 0; m < frames; m++) {
      const size_t plane = ((size_t)b * frames + m) * size;
      const COMPLEX s = spectra[plane + k], h = blurs[plane + k];
      const REAL share = mean ? scale / (frames * blurs[plane].x) : scale;
      real += share * (s.x * h.x + s.y * h.y);
      imaginary += share * (s.y * h.x - s.x * h.y);
      if (!back) continue;
      back[plane + k].x = scale * (s.x * f.x + s.y * f.y);
      back[plane + k].y = scale * (s.y * f.x - s.x * f.y);
    }
    out[(size_t)b * size + k].x = real;
    out[(size_t)b * size + k].y = imaginary;
  }
}

// g → y / g, and 1 where nothing was observed.
extern "C" __global__ void __launch_bounds__(THREADS)
    ratios(const REAL *__restrict__ y, long long count, REAL variance, REAL *__restrict__ g) {
  const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < count) g[i] = y[i] >= 0 ? (y[i] + variance) / least(g[i] + variance, EPS) : REAL(1);
}

// g → y, but where nothing was observed.
extern "C" __global__ void __launch_bounds__(THREADS)
    complete(const REAL *__restrict__ y, long long count, REAL *__restrict__ g) {
  const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < count && y[i] >= 0) g[i] = y[i];
}

// ∇f / |∇f|, its part across and its part down.
__device__ __forceinline__ REAL slope(REAL here, REAL right, REAL below, bool down) {
  const REAL x = right - here, y = below - here;
  return (down ? y : x) / sqrt(x * x + y * y + TV_EPS);
}

// T = max(1 − weight · div(∇f / |∇f|), TV_LEAST).
extern "C" __global__ void __launch_bounds__(THREADS)
    variation(const REAL *__restrict__ pictures, int planes, int height, int width, REAL weight,
              REAL *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x, size = height * width;
  if (k >= size) return;
  const int i = k / width, j = k % width;
  const int up = (i ? i - 1 : height - 1) * width, down = (i + 1 < height ? i + 1 : 0) * width;
  const int left = j ? j - 1 : width - 1, right = j + 1 < width ? j + 1 : 0;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const REAL *f = pictures + (size_t)plane * size, *row = f + i * width;
    REAL turn = slope(row[j], row[right], f[down + j], false);
    turn -= slope(row[left], row[j], f[down + left], false);
    turn += slope(row[j], row[right], f[down + j], true);
    turn -= slope(f[up + j], f[up + right], row[j], true);
    out[(size_t)plane * size + k] = least(1 - weight * turn, TV_LEAST);
  }
}

// f ← f · max(correction, LEAST) / T; the correction is above / max(below, EPS), or `above` where
// `below` is null; T is 1 where it is null.
extern "C" __global__ void __launch_bounds__(THREADS)
    sharpen(const REAL *__restrict__ above, const REAL *__restrict__ below,
            const REAL *__restrict__ turn, long long count, REAL *__restrict__ f) {
  const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i >= count) return;
  REAL correction = above[i];
  if (below) correction /= least(below[i], EPS);
  const REAL sharp = f[i] * least(correction, LEAST);
  f[i] = turn ? sharp / turn[i] : sharp;
}

// h · max(correction, 0) in the place of `above`, and each block's sum of it. The correction is
// above / max(below, EPS · Σf), 0 where both are; F at the frequency 0 is Σf.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh(const REAL *__restrict__ h, const REAL *__restrict__ below,
          const COMPLEX *__restrict__ picture, int frequencies, int planes, int frames, int size,
          REAL *__restrict__ above, double *__restrict__ partial) {
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const REAL floor = below ? EPS * picture[(size_t)(plane / frames) * frequencies].x : 0;
    double sum = 0;
    for (int k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const size_t here = (size_t)plane * size + k;
      REAL correction = above[here];
      if (below) {
        const REAL divisor = least(below[here], floor);
        correction = divisor > 0 ? correction / divisor : 0;
      }
      const REAL value = h[here] * least(correction, 0);
      above[here] = value;
      sum += value;
    }
    sum = total(sum);
    if (threadIdx.x == 0) partial[(size_t)plane * gridDim.x + blockIdx.x] = sum;
  }
}

// h ← what `weigh` left, by its sum; h stays where nothing is left: of a black picture.
extern "C" __global__ void __launch_bounds__(THREADS)
    settle(const REAL *__restrict__ weighed, const double *__restrict__ partial, int planes,
           int size, REAL *__restrict__ h) {
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    double sum = 0;
    for (int k = threadIdx.x; k < gridDim.x; k += THREADS)
      sum += partial[(size_t)plane * gridDim.x + k];
    sum = total(sum);
    if (!(sum > 0)) continue;
    for (int k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const size_t here = (size_t)plane * size + k;
      h[here] = weighed[here] / sum;
    }
  }
}

// Each block's sum of y ln(y / g) − y + g, or of (y − g)², over what was observed, and how many that is.
extern "C" __global__ void __launch_bounds__(THREADS)
    fit(const REAL *__restrict__ y, const REAL *__restrict__ g, int pictures, long long size,
        bool poisson, double2 *__restrict__ partial) {
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    double sum = 0, count = 0;
    for (long long k = blockIdx.x * THREADS + threadIdx.x; k < size; k += gridDim.x * THREADS) {
      const double wanted = y[b * size + k], found = g[b * size + k];
      if (wanted < 0) continue;
      count += 1;
      if (poisson) {
        const double model = found > EPS ? found : EPS;
        sum += model - wanted + (wanted > 0 ? wanted * log(wanted / model) : 0);
      } else {
        sum += (wanted - found) * (wanted - found);
      }
    }
    sum = total(sum);
    count = total(count);
    if (threadIdx.x == 0) {
      partial[(size_t)b * gridDim.x + blockIdx.x].x = sum;
      partial[(size_t)b * gridDim.x + blockIdx.x].y = count;
    }
  }
}
