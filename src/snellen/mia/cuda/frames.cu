// Frames → period, and back: what is before and after the iterations. See edges.py and psf.py.
//
// Each thread has a sample of one picture after another, but in `centre`, a block for each picture, and
// `gather`, a block for each PSF.
#include "mia/cuda/block_sum.cuh"

// A sample of the period is a blend of two of the frame, along each axis.
struct Mix {
  int first, second;
  REAL weight;  // of the first
};

// Where h's centre of mass is, from the middle.
struct Shift {
  int down, right;
};

__device__ __forceinline__ int wrapped(int i, int size) {
  return i < 0 ? i + size : i < size ? i : i - size;
}

// y, −1 in the margin, and f, the frames' mean; `flags` gets what is wrong with the samples.
extern "C" __global__ void __launch_bounds__(THREADS)
    place(const REAL *__restrict__ samples, int pictures, int frames, int rows, int columns,
          const Mix *__restrict__ downward, const Mix *__restrict__ across, int height, int width,
          REAL *__restrict__ y, REAL *__restrict__ f, unsigned *__restrict__ flags) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  const int i = k / width, j = k % width;
  const bool inside = i < rows && j < columns;
  const Mix down = downward[i], right = across[j];
  const size_t size = (size_t)height * width;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    REAL sum = 0;
    for (int m = 0; m < frames; m++) {
      const REAL *frame = samples + ((size_t)b * frames + m) * rows * columns;
      auto blend = [&](int column) {
        return down.weight * frame[(size_t)down.first * columns + column] +
               (1 - down.weight) * frame[(size_t)down.second * columns + column];
      };
      const REAL value = right.weight * blend(right.first) + (1 - right.weight) * blend(right.second);
      sum += value;
      y[((size_t)b * frames + m) * size + k] = inside ? value : UNOBSERVED;
      if (!inside) continue;
      const REAL sample = frame[(size_t)i * columns + j];
      const unsigned wrong = !isfinite(sample) ? NOT_FINITE
                             : sample < 0      ? NEGATIVE
                                               : (sample > LARGEST ? TOO_LARGE : 0);
      if (wrong) atomicOr(flags, wrong);
    }
    f[b * size + k] = sum / frames;
  }
}

// PSFs of the support around (0, 0) of the period.
extern "C" __global__ void __launch_bounds__(THREADS)
    spread(const REAL *__restrict__ psf, int planes, int side, int height, int width,
           REAL *__restrict__ h) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  const int i = wrapped(k / width + side / 2, height), j = wrapped(k % width + side / 2, width);
  const bool inside = i < side && j < side;
  for (int plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const REAL value = inside ? psf[((size_t)plane * side + i) * side + j] : 0;
    h[(size_t)plane * height * width + k] = value;
  }
}

// A place within the support; 0 of samples that will be refused, as NaN.
__device__ __forceinline__ int whole(double place, int side) {
  return fabs(place) <= side / 2 ? int(rint(place)) : 0;
}

// The centre of mass of the mean of a picture's PSFs, to a whole sample; the middle where of one of
// them nothing would be left in the support.
extern "C" __global__ void __launch_bounds__(THREADS)
    centre(const REAL *__restrict__ h, int frames, int side, int height, int width,
           Shift *__restrict__ out) {
  const REAL *first = h + (size_t)blockIdx.x * frames * height * width;
  double sum = 0, down = 0, right = 0;
#pragma unroll 1
  for (int k = threadIdx.x; k < side * side; k += THREADS) {
    const int i = k / side - side / 2, j = k % side - side / 2;
    const REAL *at = first + (size_t)wrapped(i, height) * width + wrapped(j, width);
    double value = 0;
    for (int m = 0; m < frames; m++) value += at[(size_t)m * height * width];
    sum += value;
    down += value * i;
    right += value * j;
  }
  sum = total(sum), down = total(down), right = total(right);
  Shift shift = {whole(down / sum, side), whole(right / sum, side)};
#pragma unroll 1
  for (int m = 0; m < frames; m++) {
    double left = 0;
#pragma unroll 1
    for (int k = threadIdx.x; k < side * side; k += THREADS) {
      const int i = k / side - side / 2, j = k % side - side / 2;
      if (abs(i - shift.down) > side / 2 || abs(j - shift.right) > side / 2) continue;
      left += first[((size_t)m * height + wrapped(i, height)) * width + wrapped(j, width)];
    }
    if (!total(left)) shift = {0, 0};
  }
  if (threadIdx.x == 0) out[blockIdx.x] = shift;
}

// PSFs of the support, moved to their centre where `shifts` is not null, of sum 1, or 0 where there is
// nothing; and the flags, as a number.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const REAL *__restrict__ h, int frames, int side, int height, int width,
           const Shift *__restrict__ shifts, REAL *__restrict__ psf,
           const unsigned *__restrict__ flags, REAL *__restrict__ told) {
  const REAL *plane = h + (size_t)blockIdx.x * height * width;
  const Shift shift = shifts ? shifts[blockIdx.x / frames] : Shift{0, 0};
  REAL *out = psf + (size_t)blockIdx.x * side * side;
  double sum = 0;
  for (int k = threadIdx.x; k < side * side; k += THREADS) {
    const int i = wrapped(wrapped(k / side - side / 2, height) + shift.down, height);
    const int j = wrapped(wrapped(k % side - side / 2, width) + shift.right, width);
    out[k] = plane[(size_t)i * width + j];
    sum += out[k];
  }
  sum = total(sum);
  for (int k = threadIdx.x; k < side * side; k += THREADS) out[k] = sum ? out[k] / sum : 0;
  if (!blockIdx.x && !threadIdx.x) *told = *flags;
}

// Pictures without their margin, moved the other way.
extern "C" __global__ void __launch_bounds__(THREADS)
    cut(const REAL *__restrict__ f, int pictures, int height, int width,
        const Shift *__restrict__ shifts, int rows, int columns, REAL *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= rows * columns) return;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    const Shift shift = shifts ? shifts[b] : Shift{0, 0};
    const int i = wrapped(k / columns - shift.down, height);
    const int j = wrapped(k % columns - shift.right, width);
    out[(size_t)b * rows * columns + k] = f[((size_t)b * height + i) * width + j];
  }
}
