// What the search of a PSF computes between cuFFT's transforms, at one level of the pyramid. All is
// float64, as on the CPU, whose modules name the equations: latent.py, gradients.py,
// leastsquares.py.
//
// Who holds what: everything is in global memory. Planes of several pictures are `stride` samples
// apart, half spectra follow each other; blockIdx.y is the picture. A thread has one sample or
// frequency. `conjugate_step` and `prune` run as one block, which has the whole PSF.
//
// Barriers: those of block_sum, and __syncthreads between the stages of `prune`. Sums are in a fixed
// order, or of integers, so that the result has the same bits in each run.
#include "mia/cuda/block_sum.cuh"

typedef unsigned int uint32;
typedef unsigned long long uint64;

// The scalars of a search, which are in global memory so that one graph serves all iterations.
struct Scalars {
  double weight;        // λ
  double edge_beta;     // β of `edges`
  double divide_beta;   // β of `divide`: each of the two kernels writes what the other one reads
  double energy;        // |residual|² of the conjugate gradients
};

// A sample of a periodic plane and the differences across and down from it.
struct Sample {
  int i, j, right, below;  // row, column; the column to the right, the row below

  __device__ Sample(int k, int height, int width) {
    i = k / width, j = k - i * width;
    right = j + 1 < width ? j + 1 : 0;
    below = i + 1 < height ? i + 1 : 0;
  }
};

struct Gradient {
  double across, down;
};

__device__ __forceinline__ Gradient gradient(const double *f, int width, int i, int j, int right,
                                             int below) {
  const double here = f[i * width + j];
  return {f[i * width + right] - here, f[below * width + j] - here};
}

// Returns the gradient, or 0 where its square is below `least`. Without fused operations, as the CPU
// computes: the first f is y, whose samples are equal on both.
__device__ __forceinline__ Gradient edge(Gradient g, double least) {
  const double square = __dadd_rn(__dmul_rn(g.across, g.across), __dmul_rn(g.down, g.down));
  return square >= least ? g : Gradient{0., 0.};
}

// Returns a sample of a picture of float (`single`) or double.
__device__ __forceinline__ double sample(const void *picture, bool single, size_t k) {
  return single ? static_cast<const float *>(picture)[k] : static_cast<const double *>(picture)[k];
}

// Means and maxima of squares of `side` samples of a picture, whose rows are `pitch` samples apart:
// (rows, columns) each; see crops.py.
extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_squares(const void *__restrict__ picture, bool single, long long pitch, int side,
                   int rows, int columns, double *__restrict__ mean, double *__restrict__ most) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= rows * columns) return;
  const int i = k / columns, j = k - i * columns;
  double sum = 0, greatest = 0;
  for (int down = 0; down < side; down++)
    for (int across = 0; across < side; across++) {
      const double value =
          sample(picture, single, (size_t)(i * side + down) * pitch + j * side + across);
      sum += value, greatest = fmax(greatest, value);
    }
  mean[k] = sum / (side * side), most[k] = greatest;
}

// Reduces a picture (rows, columns), whose rows are `pitch` samples apart: `out` (height, width) gets
// weighted sums of `row_taps` by `column_taps` samples, divided by `divisor`, a power of two; see
// pyramid.triangles.
extern "C" __global__ void __launch_bounds__(THREADS)
    shrink(const void *__restrict__ picture, bool single, long long pitch, double divisor, int rows,
           int columns, const int *__restrict__ top, const double *__restrict__ row_weights,
           int row_taps, const int *__restrict__ left, const double *__restrict__ column_weights,
           int column_taps, int height, int width, double *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  const int i = k / width, j = k - i * width;
  double total = 0;
  for (int across = 0; across < column_taps; across++) {
    const int column = min(left[j] + across, columns - 1);
    double inner = 0;
    for (int down = 0; down < row_taps; down++) {
      const int row = min(top[i] + down, rows - 1);
      inner += row_weights[down * height + i] * sample(picture, single, row * pitch + column);
    }
    total += column_weights[across * width + j] * inner;
  }
  out[k] = total / divisor;
}

// Blends opposite edges into each other, rows first, then columns; see edges.taper.
extern "C" __global__ void __launch_bounds__(THREADS)
    taper(const double *__restrict__ plane, const double *__restrict__ row_weights,
          const double *__restrict__ column_weights, int height, int width,
          double *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  const int i = k / width, j = k - i * width;
  const double *row = plane + i * width, *opposite = plane + (height - 1 - i) * width;
  const double down = row_weights[i], across = column_weights[j];
  const double here = down * row[j] + (1 - down) * opposite[j];
  const double there = down * row[width - 1 - j] + (1 - down) * opposite[width - 1 - j];
  out[k] = across * here + (1 - across) * there;
}

// Puts a PSF (side, side) on the period, its middle at (0, 0); see psf.to_period.
extern "C" __global__ void __launch_bounds__(THREADS)
    spread(const double *__restrict__ psf, int side, int height, int width,
           double *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  int i = k / width, j = k - i * width;
  i = (i + side / 2) % height, j = (j + side / 2) % width;
  out[k] = i < side && j < side ? psf[i * side + j] : 0;
}

// Computes conj H · Y of each picture, and |H|².
extern "C" __global__ void __launch_bounds__(THREADS)
    blur_products(const double2 *__restrict__ blur, const double2 *__restrict__ observed, int size,
                  double2 *__restrict__ data, double *__restrict__ power) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  const size_t here = (size_t)blockIdx.y * size + k;
  const double2 h = blur[k], y = observed[here];
  data[here] = {h.x * y.x + h.y * y.y, h.x * y.y - h.y * y.x};
  if (blockIdx.y == 0) power[k] = h.x * h.x + h.y * h.y;
}

// Begins the latent pictures: f = y and β = `factor` · λ.
extern "C" __global__ void __launch_bounds__(THREADS)
    begin(const double *__restrict__ y, int size, int stride, double weight, double factor,
          double *__restrict__ f, Scalars *scalars) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k == 0 && blockIdx.y == 0) {
    scalars->weight = weight;
    scalars->edge_beta = factor * weight;
  }
  const size_t here = (size_t)blockIdx.y * stride + k;
  if (k < size) f[here] = y[here];
}

// The divergence of those gradients of f whose square is at least λ / β.
extern "C" __global__ void __launch_bounds__(THREADS)
    edges(const double *__restrict__ pictures, int height, int width, int stride, Scalars *scalars,
          double *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  const double beta = scalars->edge_beta, least = scalars->weight / beta;
  if (k == 0 && blockIdx.y == 0) scalars->divide_beta = beta;
  if (k >= height * width) return;
  const double *f = pictures + (size_t)blockIdx.y * stride;
  const Sample at(k, height, width);
  const int left = at.j ? at.j - 1 : width - 1, above = at.i ? at.i - 1 : height - 1;
  const Gradient here = edge(gradient(f, width, at.i, at.j, at.right, at.below), least);
  const Gradient before = edge(gradient(f, width, at.i, left, at.j, at.below), least);
  const Gradient over = edge(gradient(f, width, above, at.j, at.right, at.i), least);
  out[(size_t)blockIdx.y * stride + k] = before.across - here.across + over.down - here.down;
}

// The spectrum of the next f, times `scale`: (data + β · spectrum) / (power + β · Laplacian).
extern "C" __global__ void __launch_bounds__(THREADS)
    divide(const double2 *__restrict__ data, const double *__restrict__ power,
           const double *__restrict__ down, const double *__restrict__ across, int height, int half,
           double scale, double growth, Scalars *scalars, double2 *__restrict__ spectra) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  const double beta = scalars->divide_beta;
  if (k == 0 && blockIdx.y == 0) scalars->edge_beta = growth * beta;
  if (k >= height * half) return;
  const int i = k / half, j = k - i * half;
  const size_t here = (size_t)blockIdx.y * height * half + k;
  const double share = scale / (power[k] + beta * (down[i] + across[j]));
  const double2 wanted = data[here], spectrum = spectra[here];
  spectra[here] = {(beta * spectrum.x + wanted.x) * share, (beta * spectrum.y + wanted.y) * share};
}

// One step to the number of a given rank among the lengths of gradients, across and down: of those
// whose bits above `shift + 8` are those of `found`, counts how many have each value of the next
// eight. Positive numbers are ordered as their bits are. `counts` is (pictures, 2, 256).
extern "C" __global__ void __launch_bounds__(THREADS)
    count_lengths(const double *__restrict__ pictures, int height, int width, int stride, int shift,
                  const uint64 *__restrict__ found, uint32 *__restrict__ counts) {
  __shared__ uint32 own[2][256];
  for (int n = threadIdx.x; n < 512; n += THREADS) own[n / 256][n % 256] = 0;
  __syncthreads();
  const double *f = pictures + (size_t)blockIdx.y * stride;
  for (int k = blockIdx.x * THREADS + threadIdx.x; k < height * width; k += gridDim.x * THREADS) {
    const Sample at(k, height, width);
    const Gradient g = gradient(f, width, at.i, at.j, at.right, at.below);
#pragma unroll
    for (int way = 0; way < 2; way++) {
      const uint64 bits = __double_as_longlong(fabs(way ? g.down : g.across));
      const uint64 differ = shift < 56 ? (bits ^ found[blockIdx.y * 2 + way]) >> (shift + 8) : 0;
      if (!differ) atomicAdd(&own[way][(bits >> shift) & 255], 1u);
    }
  }
  __syncthreads();
  for (int n = threadIdx.x; n < 512; n += THREADS)
    if (const uint32 count = own[n / 256][n % 256])
      atomicAdd(&counts[blockIdx.y * 512 + n], count);
}

// The other half of the step: finds the eight bits, adds them to `found`, reduces the rank by what
// is below them, and clears the counts. `ranks` gets `rank` before the first step (`shift` = 56).
// One block of 256 threads for each picture and direction, in blockIdx.x.
extern "C" __global__ void __launch_bounds__(256)
    pick_length(int shift, uint32 rank, uint32 *__restrict__ ranks, uint64 *__restrict__ found,
                uint32 *__restrict__ counts) {
  __shared__ uint32 below[256];
  const int digit = threadIdx.x, which = blockIdx.x;
  const uint32 count = counts[which * 256 + digit], wanted = shift == 56 ? rank : ranks[which];
  const uint64 before = shift == 56 ? 0 : found[which];
  counts[which * 256 + digit] = 0;
  below[digit] = count;
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    const uint32 more = digit >= step ? below[digit - step] : 0;
    __syncthreads();
    below[digit] += more;
  }
  const uint32 up_to = below[digit], least = up_to - count;
  if (least <= wanted && wanted < up_to) {  // of one thread; the barriers order it after all reads
    ranks[which] = wanted - least;
    found[which] = before | (uint64)digit << shift;
  }
}

// The differences of f, all that are shorter than the found lengths as 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    strongest(const double *__restrict__ pictures, int height, int width, int stride,
              const double *__restrict__ least, double *__restrict__ across,
              double *__restrict__ down) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  const Sample at(k, height, width);
  const double *f = pictures + (size_t)blockIdx.y * stride;
  const Gradient g = gradient(f, width, at.i, at.j, at.right, at.below);
  const double *shortest = least + blockIdx.y * 2;
  const size_t here = (size_t)blockIdx.y * stride + k;
  across[here] = fabs(g.across) < shortest[0] ? 0 : g.across;
  down[here] = fabs(g.down) < shortest[1] ? 0 : g.down;
}

// Replaces the spectra of sharp gradients by those of their autocorrelation (`across`) and of their
// correlation with the blurred ones (`down`), each summed over both directions, times `scale`.
extern "C" __global__ void __launch_bounds__(THREADS)
    correlate(const double2 *__restrict__ blurred_across, const double2 *__restrict__ blurred_down,
              int size, double scale, double2 *__restrict__ across, double2 *__restrict__ down) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= size) return;
  const size_t here = (size_t)blockIdx.y * size + k;
  const double2 a = across[here], d = down[here];
  const double2 u = blurred_across[here], v = blurred_down[here];
  across[here] = {scale * (a.x * a.x + a.y * a.y + (d.x * d.x + d.y * d.y)), 0.};
  down[here] = {scale * (a.x * u.x + a.y * u.y + (d.x * v.x + d.y * v.y)),
                scale * (a.x * u.y - a.y * u.x + (d.x * v.y - d.y * v.x))};
}

// Sums a correlation over the pictures, at lags −(side / 2) … side / 2 each way: `out` (side, side).
extern "C" __global__ void __launch_bounds__(THREADS)
    lags(const double *__restrict__ correlation, int pictures, int height, int width, int stride,
         int side, double *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= side * side) return;
  int i = k / side, j = k - i * side;
  i = (i - side / 2) % height, j = (j - side / 2) % width;
  if (i < 0) i += height;
  if (j < 0) j += width;
  double total = 0;
  for (int picture = 0; picture < pictures; picture++)
    total += correlation[(size_t)picture * stride + (size_t)i * width + j];
  out[k] = total;
}

// Returns the sum of a number of each lane of a warp, in all lanes.
__device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
  for (int half = 16; half; half /= 2) value += __shfl_xor_sync(0xffffffffu, value, half);
  return value;
}

// The left-hand side of the normal equations: own ⊛ direction + ridge · direction. A warp computes
// one value.
extern "C" __global__ void __launch_bounds__(THREADS)
    conjugate_apply(const double *__restrict__ own, const double *__restrict__ direction, int side,
                    double ridge, double *__restrict__ applied) {
  const int which = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (which >= side * side) return;
  const int i = which / side, j = which - i * side, lags = 2 * side - 1;
  double total = 0;
#pragma unroll 1
  for (int row = 0; row < side; row++) {
    const int lag = (i - row + side - 1) * lags + j + side - 1, first = row * side;
#pragma unroll 1
    for (int column = lane; column < side; column += 32)
      total += own[lag - column] * direction[first + column];
  }
  total = warp_sum(total);
  if (lane == 0) applied[which] = total + ridge * direction[which];
}

// Begins the conjugate gradients from h = 0: residual and direction are the right-hand side.
extern "C" __global__ void __launch_bounds__(THREADS)
    conjugate_begin(const double *__restrict__ other, int size, double *__restrict__ h,
                    double *__restrict__ residual, double *__restrict__ direction,
                    Scalars *scalars) {
  double energy = 0;
  for (int k = threadIdx.x; k < size; k += THREADS) {
    h[k] = 0, residual[k] = direction[k] = other[k];
    energy += other[k] * other[k];
  }
  energy = block_sum(energy);
  if (threadIdx.x == 0) scalars->energy = energy;
}

// A step of the conjugate gradients, after `conjugate_apply`; none where the residual is 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    conjugate_step(const double *__restrict__ applied, int size, double *__restrict__ h,
                   double *__restrict__ residual, double *__restrict__ direction,
                   Scalars *scalars) {
  const double before = scalars->energy;
  if (!(before > 0)) return;
  double product = 0, energy = 0;
  for (int k = threadIdx.x; k < size; k += THREADS) product += direction[k] * applied[k];
  const double curvature = block_sum(product);
  if (curvature == 0) return;  // `before` is near the smallest number
  const double step = before / curvature;
  for (int k = threadIdx.x; k < size; k += THREADS) {
    h[k] += step * direction[k];
    const double rest = residual[k] - step * applied[k];
    residual[k] = rest;
    energy += rest * rest;
  }
  energy = block_sum(energy);
  const double share = energy / before;
  for (int k = threadIdx.x; k < size; k += THREADS)
    direction[k] = residual[k] + share * direction[k];
  if (threadIdx.x == 0) scalars->energy = energy;
}

// Returns the least pixel that is known to be in the component of a pixel.
__device__ __forceinline__ int root(volatile int *labels, int pixel) {
  for (int next = labels[pixel]; next != pixel; next = labels[pixel]) pixel = next;
  return pixel;
}

// Joins the components of two pixels. A label is a pixel of the same component, never a later one.
__device__ void join(int *labels, int one, int other) {
  while (true) {
    one = root(labels, one), other = root(labels, other);
    if (one == other) return;
    const int later = max(one, other), earlier = min(one, other);
    const int before = atomicMin(&labels[later], earlier);
    if (before == later) return;
    one = before, other = earlier;  // another thread has joined `later` to `before`
  }
}

// Prunes h into a PSF: see leastsquares.pruned. Where nothing is left, the PSF stays as it was. `masses` are
// the components' shares of the sum in units of 2⁻⁴⁰, because sums of integers have no order.
extern "C" __global__ void __launch_bounds__(THREADS)
    prune(int side, double faint, double small, double tiny, double *__restrict__ h,
          int *__restrict__ labels, uint64 *__restrict__ masses, double *__restrict__ psf) {
  __shared__ double greatest[THREADS];
  const int size = side * side, first = threadIdx.x;
  constexpr double UNIT = 1099511627776.;  // 2⁴⁰
  double most = h[0];
  for (int k = first; k < size; k += THREADS) most = fmax(most, h[k]);
  greatest[threadIdx.x] = most;
  for (int half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      greatest[threadIdx.x] = fmax(greatest[threadIdx.x], greatest[threadIdx.x + half]);
  }
  __syncthreads();
  const double least = fmax(faint * greatest[0], tiny);
  double total = 0;
  for (int k = first; k < size; k += THREADS) {
    const double value = h[k] >= least ? h[k] : 0;
    h[k] = value, labels[k] = k, masses[k] = 0;
    total += value;
  }
  total = block_sum(total);
  if (!(total > 0)) return;
  for (int k = first; k < size; k += THREADS) {
    if (!h[k]) continue;
    const int i = k / side, j = k - i * side;
    if (j && h[k - 1]) join(labels, k, k - 1);
    if (!i) continue;
    for (int column = max(j - 1, 0); column <= min(j + 1, side - 1); column++)
      if (h[(i - 1) * side + column]) join(labels, k, (i - 1) * side + column);
  }
  __syncthreads();
  for (int k = first; k < size; k += THREADS)
    if (h[k]) atomicAdd(&masses[root(labels, k)], (uint64)(h[k] / total * UNIT + 0.5));
  __syncthreads();
  bool large = false;
  for (int k = first; k < size; k += THREADS) large |= masses[k] >= (uint64)(small * UNIT);
  const bool any = __syncthreads_or(large);
  double rest = 0;
  for (int k = first; k < size; k += THREADS) {
    if (any && h[k] && masses[root(labels, k)] < (uint64)(small * UNIT)) h[k] = 0;
    rest += h[k];
  }
  rest = block_sum(rest);
  for (int k = first; k < size; k += THREADS) psf[k] = h[k] / rest;
}
