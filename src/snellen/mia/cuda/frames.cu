// What comes before and after the iterations: frames → period → frames, and the same for PSFs.
// edges.py, psf.py and centre.py have the definitions.
//
// Who holds what: everything is in global memory, but for the weights of a move, which are in shared
// memory. A thread has one sample of one picture after another; `find_centre` has a block for each
// picture and `crop_psf` a block for each PSF.
//
// Barriers: those of block_sum and Flow::set, and in `crop_psf` after each pass.
#include "gpu/device.cuh"
#include "mia/cuda/block_sum.cuh"
#include "mia/cuda/flow.cuh"

// Along each axis, a sample of the period is a mean of two samples of the frame, with weights.
struct Blend {
  int first, second;
  REAL weight;  // of the first
};

// The position of the centre of mass of h, relative to the middle: whole samples, and the rest.
struct Shift {
  double part_down, part_right;
  int down, right;
};

// Returns i modulo size, for −size ≤ i < 2 · size.
__device__ __forceinline__ int wrapped(int i, int size) {
  return i < 0 ? i + size : i < size ? i : i - size;
}

// Computes y (UNOBSERVED in the margin) and the start value of f, the mean of the frames, on the
// period; `white` becomes 1. `flags` gets a bit for each kind of invalid sample.
extern "C" __global__ void __launch_bounds__(THREADS)
    place_frames(const SAMPLE *__restrict__ samples, REAL white, int pictures, int frames, int rows,
                 int columns, const Blend *__restrict__ along_y, const Blend *__restrict__ along_x,
                 int height, int width, REAL *__restrict__ y, REAL *__restrict__ f,
                 unsigned *__restrict__ flags) {
  const int k = blockIdx.x * THREADS + threadIdx.x;
  if (k >= height * width) return;
  const int i = k / width, j = k % width;
  const bool inside = i < rows && j < columns;
  const Blend down = along_y[i], right = along_x[j];
  const size_t size = (size_t)height * width;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    REAL sum = 0;
    for (int m = 0; m < frames; m++) {
      const SAMPLE *frame = samples + ((size_t)b * frames + m) * rows * columns;
      auto scaled = [&](int row, int column) {
        return REAL(frame[(size_t)row * columns + column]) / white;
      };
      auto blend = [&](int column) {
        return down.weight * scaled(down.first, column) +
               (1 - down.weight) * scaled(down.second, column);
      };
      const REAL value =
          right.weight * blend(right.first) + (1 - right.weight) * blend(right.second);
      sum += value;
      y[((size_t)b * frames + m) * size + k] = inside ? value : UNOBSERVED;
      if (!inside) continue;
      const REAL sample = scaled(i, j);
      const unsigned invalid = !isfinite(sample) ? NOT_FINITE
                               : sample < 0      ? NEGATIVE
                                                 : (sample > LARGEST ? TOO_LARGE : 0);
      if (invalid) atomicOr(flags, invalid);
    }
    f[b * size + k] = sum / frames;
  }
}

// Places PSFs on the period, with their middle at (0, 0).
extern "C" __global__ void __launch_bounds__(THREADS)
    place_psf(const REAL *__restrict__ psf, int planes, int side, int height, int width,
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

// Returns a position; 0 outside the support, also for NaN, whose samples are refused later.
__device__ __forceinline__ double within(double position, int side) {
  return fabs(position) <= side / 2 ? position : 0;
}

// Returns what is left of a position beside whole samples.
__device__ __forceinline__ double part_of(double position) {
  const double part = position - rint(position);
  return fabs(part) < LEAST ? 0 : part;
}

// Computes the centre of mass of the mean PSF of a picture, without `parts` to whole samples; the
// middle if a move there would leave nothing of one of its PSFs in the support.
extern "C" __global__ void __launch_bounds__(THREADS)
    find_centre(const REAL *__restrict__ h, int frames, int side, int height, int width,
                int parts, Shift *__restrict__ out) {
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
  sum = block_sum(sum), down = block_sum(down), right = block_sum(right);
  down = within(down / sum, side), right = within(right / sum, side);
  Shift shift = {parts ? part_of(down) : 0, parts ? part_of(right) : 0, int(rint(down)),
                 int(rint(right))};
#pragma unroll 1
  for (int m = 0; m < frames; m++) {
    double left = 0;
#pragma unroll 1
    for (int k = threadIdx.x; k < side * side; k += THREADS) {
      const int i = k / side - side / 2, j = k % side - side / 2;
      if (abs(i - shift.down) > side / 2 || abs(j - shift.right) > side / 2) continue;
      left += first[((size_t)m * height + wrapped(i, height)) * width + wrapped(j, width)];
    }
    if (!block_sum(left)) shift = {0, 0, 0, 0};
  }
  if (threadIdx.x == 0) out[blockIdx.x] = shift;
}

// Crops PSFs to their support and divides each by its sum unless that is 0; unless `shifts` is null,
// they are centred. `scratch` is as large as `psf`. `flags_out` gets the flags as a number, so that
// one copy brings all results to the host.
extern "C" __global__ void __launch_bounds__(THREADS)
    crop_psf(const REAL *__restrict__ h, int frames, int side, int height, int width,
             const Shift *__restrict__ shifts, REAL *psf, REAL *scratch,
             const unsigned *__restrict__ flags, REAL *__restrict__ flags_out) {
  __shared__ Flow flow;
  const REAL *plane = h + (size_t)blockIdx.x * height * width;
  const Shift shift = shifts ? shifts[blockIdx.x / frames] : Shift{0, 0, 0, 0};
  REAL *out = psf + (size_t)blockIdx.x * side * side;
  REAL *between = scratch + (size_t)blockIdx.x * side * side;
  double sum = 0;
  for (int k = threadIdx.x; k < side * side; k += THREADS) {
    const int i = wrapped(wrapped(k / side - side / 2, height) + shift.down, height);
    const int j = wrapped(wrapped(k % side - side / 2, width) + shift.right, width);
    out[k] = plane[(size_t)i * width + j];
    sum += out[k];
  }
  sum = block_sum(sum);
  for (int k = threadIdx.x; k < side * side; k += THREADS) out[k] = sum ? out[k] / sum : 0;
  if (shift.part_right) {
    flow.set(-shift.part_right);
    for (int k = threadIdx.x; k < side * side; k += THREADS)
      between[k] = flow.moved(out + k / side * side, 1, side, true, k % side);
    __syncthreads();
    for (int k = threadIdx.x; k < side * side; k += THREADS) out[k] = between[k];
  }
  if (shift.part_down) {
    flow.set(-shift.part_down);
    for (int k = threadIdx.x; k < side * side; k += THREADS)
      between[k] = flow.moved(out + k % side, side, side, true, k / side);
    __syncthreads();
    for (int k = threadIdx.x; k < side * side; k += THREADS) out[k] = between[k];
  }
  if (!blockIdx.x && !threadIdx.x) *flags_out = *flags;
}

// Moves pictures, `stride` samples from each other, to the right by the fractions of `shifts`.
extern "C" __global__ void __launch_bounds__(THREADS)
    move_pictures(const REAL *__restrict__ f, long long stride, int pictures, int height, int width,
                  const Shift *__restrict__ shifts, REAL *__restrict__ out) {
  __shared__ Flow flow;
  const int k = blockIdx.x * THREADS + threadIdx.x;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    flow.set(shifts[b].part_right);
    if (k >= height * width) continue;
    const REAL *line = f + b * stride + (size_t)(k / width) * width;
    out[(size_t)b * height * width + k] = flow.moved(line, 1, width, false, k % width);
  }
}

// Gives each sample of pictures, `stride` samples from each other, cropped to the frame and moved
// opposite to their PSFs, to `take`; the fractions to the right are done.
template <class Take>
__device__ __forceinline__ void cropped(const REAL *__restrict__ f, long long stride, int pictures,
                                        int height, int width, const Shift *__restrict__ shifts,
                                        int rows, int columns, Take take) {
  __shared__ Flow flow;
  const int k = blockIdx.x * THREADS + threadIdx.x;
  for (int b = blockIdx.y; b < pictures; b += gridDim.y) {
    const Shift shift = shifts ? shifts[b] : Shift{0, 0, 0, 0};
    flow.set(shift.part_down);
    if (k >= rows * columns) continue;
    const int i = wrapped(k / columns - shift.down, height);
    const int j = wrapped(k % columns - shift.right, width);
    take((size_t)b * rows * columns + k, flow.moved(f + b * stride + j, width, height, false, i));
  }
}

// Crops pictures to the frame.
extern "C" __global__ void __launch_bounds__(THREADS)
    crop_pictures(const REAL *__restrict__ f, long long stride, int pictures, int height, int width,
                  const Shift *__restrict__ shifts, int rows, int columns, REAL *__restrict__ out) {
  cropped(f, stride, pictures, height, width, shifts, rows, columns,
          [&](size_t k, REAL value) { out[k] = value; });
}

// The same, but each sample is multiplied by `white`, rounded to an integer, ties to even, and
// clipped to 0 … most.
extern "C" __global__ void __launch_bounds__(THREADS)
    crop_samples(const REAL *__restrict__ f, long long stride, int pictures, int height, int width,
                 const Shift *__restrict__ shifts, int rows, int columns, REAL white, REAL most,
                 WHOLE *__restrict__ out) {
  cropped(f, stride, pictures, height, width, shifts, rows, columns, [&](size_t k, REAL value) {
    value *= white;
    out[k] = static_cast<WHOLE>(rint(value > 0 ? (value < most ? value : most) : 0));
  });
}
