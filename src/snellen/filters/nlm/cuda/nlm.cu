// Non-local means of a group of planes of one size: luma, or both chroma planes. definition.py says what
// is computed. All that is compared is an integer that float32 holds exactly, so that sums may be slid
// along; the sums of weights and samples are rounded step by step as on the CPU.
//
// Who holds what: a block of `gather` denoises TALL rows of WIDE samples. The frame that is compared lies
// in shared memory, with its margin; sums are in registers. First, lane = row and warp = SEGMENT columns:
// each thread keeps its levels of the frame that is denoised, and sums squares across. Then lane = column,
// and a thread sums down and weighs RUN rows. Barriers: after loading, and two for each offset.
#include "gpu/device.cuh"

constexpr int THREADS = 256;
constexpr int TAPS = 2 * PATCH + 1, SIDE = 2 * SEARCH + 1, MARGIN = SEARCH + PATCH;
constexpr int SUMMED = 32, TALL = SUMMED - TAPS + 1;  // rows of squares, and of results
constexpr int SEGMENT = 8, WIDE = SEGMENT * THREADS / 32;
constexpr int RUN = TALL * WIDE / THREADS;
constexpr int ROWS = TALL + 2 * MARGIN, COLUMNS = WIDE + 2 * MARGIN;
constexpr int PITCH = COLUMNS | 1, ACROSS = WIDE | 1;  // odd: lanes in one column are in 32 banks
constexpr int SPAN = SEGMENT + TAPS - 1;               // levels that a thread compares
static_assert(RUN * THREADS == TALL * WIDE, "a thread has as many rows as any other");
static_assert(WIDE % 32 == 0, "a warp has columns of one run of rows");

// Returns the position that a mirror at both edges, which repeats the outermost sample, shows at i.
__device__ __forceinline__ int mirrored(int i, int size) {
  i %= 2 * size;
  if (i < 0) i += 2 * size;
  return i < size ? i : 2 * size - 1 - i;
}

__device__ __forceinline__ float level(SAMPLE sample) { return float(sample >> SHIFT); }

// Fills the shared memory from planes, the first of its samples at (top, left), which may lie outside.
__device__ __forceinline__ void load(const SAMPLE *first, const SAMPLE *second, int width, int height,
                                     int top, int left, float *levels, SAMPLE *samples) {
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += THREADS) {
    const int row = i / COLUMNS, column = i % COLUMNS;
    const size_t from =
        (size_t)mirrored(top + row, height) * width + mirrored(left + column, width);
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
      const SAMPLE sample = __ldg((p ? second : first) + from);
      levels[(p * ROWS + row) * PITCH + column] = level(sample);
      if (SHIFT) samples[(p * ROWS + row) * PITCH + column] = sample;
    }
  }
}

// Counts the sums of second differences of blocks in a histogram, and empty blocks behind it. A thread
// has a column of a block; its mask has a bit for each row with a difference.
// Grid: blocks across, by THREADS / BLOCK; blocks down; planes.
extern "C" __global__ void __launch_bounds__(THREADS)
    count(const SAMPLE *__restrict__ first, const SAMPLE *__restrict__ second, int width, int blocks,
          int *__restrict__ counts) {
  __shared__ int sums[THREADS], masks[THREADS];
  const int x = blockIdx.x * THREADS + threadIdx.x;
  const SAMPLE *plane = blockIdx.z ? second : first;
  int sum = 0, mask = 0;
  if (x < blocks * BLOCK) {
    for (int row = 0; row < BLOCK; row++) {
      const int y = blockIdx.y * BLOCK + row;
      float rows[3];
#pragma unroll
      for (int i = 0; i < 3; i++) {
        const SAMPLE *from = plane + (size_t)y * width + x + i * STEP;
        rows[i] = level(from[0]) - 2 * level(from[STEP * (size_t)width]) +
                  level(from[2 * STEP * (size_t)width]);
      }
      const int found = int(fabsf(rows[0] - 2 * rows[1] + rows[2]));
      sum += found, mask |= (found != 0) << row;
    }
  }
  sums[threadIdx.x] = sum, masks[threadIdx.x] = mask;
  __syncthreads();
  if (threadIdx.x % BLOCK || x >= blocks * BLOCK) return;
  bool empty = mask == 0;
  for (int i = 1; i < BLOCK; i++) {
    sum += sums[threadIdx.x + i], mask |= masks[threadIdx.x + i];
    empty |= masks[threadIdx.x + i] == 0;
  }
  empty |= mask != (1 << BLOCK) - 1;
  atomicAdd(counts + (empty ? BINS : min(sum / BIN, BINS - 1)), 1);
}

// Finds the bin with the quantile and writes its threshold; clears the histogram. Grid: one block.
extern "C" __global__ void __launch_bounds__(THREADS)
    choose(int *__restrict__ counts, const float *__restrict__ thresholds,
           float *__restrict__ threshold) {
  constexpr int EACH = BINS / THREADS;
  __shared__ int sums[THREADS], bins[BINS];
  int sum = 0;
  for (int i = 0; i < EACH; i++) {
    const int bin = threadIdx.x * EACH + i;
    sum += bins[bin] = counts[bin];
    counts[bin] = 0;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x) return;
  int total = 0;
  for (int i = 0; i < THREADS; i++) total += sums[i];
  const int wanted = counts[BINS] > total ? 0 : (total + QUANTILE - 1) / QUANTILE;
  counts[BINS] = 0;
  int below = 0, part = 0;
  while (part < THREADS - 1 && below + sums[part] < wanted) below += sums[part++];
  int bin = part * EACH;
  while (bin < part * EACH + EACH - 1 && below + bins[bin] < wanted) below += bins[bin++];
  threshold[0] = thresholds[2 * bin], threshold[1] = thresholds[2 * bin + 1];
}

// Adds the samples of one frame, weighted, to the sums of the frame that is denoised. The first launch
// begins the sums, the last one writes the means. Grid: WIDE columns, TALL rows.
//
// given: whether there is such a frame; same: whether it is the denoised one, whose samples are not
// compared with themselves. sums: Σ w sample of each plane, Σ w and the greatest w, each height × width.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const SAMPLE *__restrict__ centre, const SAMPLE *__restrict__ centre_second,
           const SAMPLE *__restrict__ other, const SAMPLE *__restrict__ other_second, int width,
           int height, const float *__restrict__ threshold, const int *__restrict__ given,
           int same, int begins, int ends, float *__restrict__ sums, TARGET *__restrict__ out,
           TARGET *__restrict__ out_second, float factor, float offset, float white) {
  __shared__ float levels[PLANES * ROWS * PITCH], across[SUMMED * ACROSS];
  __shared__ SAMPLE samples[SHIFT ? PLANES * ROWS * PITCH : 1];
  const int lane = threadIdx.x % 32, segment = threadIdx.x / 32 * SEGMENT;
  const int column = threadIdx.x % WIDE, run = threadIdx.x / WIDE * RUN;
  const int top = blockIdx.y * TALL, left = blockIdx.x * WIDE;
  const size_t area = (size_t)width * height;
  const float exact = threshold[0], inverse = threshold[1];

  float total[PLANES][RUN], weights[RUN], most[RUN];
#pragma unroll
  for (int j = 0; j < RUN; j++) {
    const int y = top + run + j, x = left + column;
    const bool inside = !begins && y < height && x < width;
    const size_t here = inside ? (size_t)y * width + x : 0;
#pragma unroll
    for (int p = 0; p < PLANES; p++) total[p][j] = inside ? sums[p * area + here] : 0;
    weights[j] = inside ? sums[PLANES * area + here] : 0;
    most[j] = inside ? sums[(PLANES + 1) * area + here] : 0;
  }

  if (given[0]) {
    float mine[PLANES][SPAN];
    load(centre, centre_second, width, height, top - MARGIN, left - MARGIN, levels, samples);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < PLANES; p++)
#pragma unroll
      for (int i = 0; i < SPAN; i++)
        mine[p][i] = levels[(p * ROWS + SEARCH + lane) * PITCH + SEARCH + segment + i];
    __syncthreads();
    load(other, other_second, width, height, top - MARGIN, left - MARGIN, levels, samples);
    __syncthreads();
#pragma unroll 1
    for (int offset_of = 0; offset_of < SIDE * SIDE; offset_of++) {
      if (same && offset_of == SIDE * SIDE / 2) continue;
      const int down = offset_of / SIDE, aside = offset_of % SIDE;
      float squares[SPAN];
#pragma unroll
      for (int i = 0; i < SPAN; i++) {
        squares[i] = 0;
#pragma unroll
        for (int p = 0; p < PLANES; p++) {
          float difference =
              levels[(p * ROWS + down + lane) * PITCH + aside + segment + i] - mine[p][i];
          if (LIMIT < WHITE) difference = clip(difference, -LIMIT, LIMIT);
          squares[i] += difference * difference;
        }
      }
      float sum = 0;
#pragma unroll
      for (int i = 0; i < TAPS - 1; i++) sum += squares[i];
#pragma unroll
      for (int i = 0; i < SEGMENT; i++) {
        sum += squares[i + TAPS - 1];
        across[lane * ACROSS + segment + i] = sum;
        sum -= squares[i];
      }
      __syncthreads();
      sum = 0;
#pragma unroll
      for (int j = 0; j < TAPS - 1; j++) sum += across[(run + j) * ACROSS + column];
#pragma unroll
      for (int j = 0; j < RUN; j++) {
        sum += across[(run + j + TAPS - 1) * ACROSS + column];
        float weight = fmaxf(exact - sum, 0) * inverse;
        weight *= weight, weight *= weight, weight *= weight;
        weights[j] += weight;
        most[j] = fmaxf(most[j], weight);
#pragma unroll
        for (int p = 0; p < PLANES; p++) {
          const int from = (p * ROWS + PATCH + down + run + j) * PITCH + PATCH + aside + column;
          const float sample = SHIFT ? float(samples[SHIFT ? from : 0]) : levels[from];
          total[p][j] = __fadd_rn(total[p][j], __fmul_rn(weight, sample));
        }
        sum -= across[(run + j) * ACROSS + column];
      }
      __syncthreads();
    }
  }

#pragma unroll
  for (int j = 0; j < RUN; j++) {
    const int y = top + run + j, x = left + column;
    if (y >= height || x >= width) continue;
    const size_t here = (size_t)y * width + x;
    if (!ends) {
#pragma unroll
      for (int p = 0; p < PLANES; p++) sums[p * area + here] = total[p][j];
      sums[PLANES * area + here] = weights[j];
      sums[(PLANES + 1) * area + here] = most[j];
      continue;
    }
    const float own = most[j] == 0 ? 1 : most[j];
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
      const float sample = float((p ? centre_second : centre)[here]);
      const float mean = __fadd_rn(total[p][j], __fmul_rn(own, sample)) / (weights[j] + own);
      const float code = clip(__fadd_rn(__fmul_rn(mean, factor), offset), 0, white);
      (p ? out_second : out)[here] = TARGET(rintf(code));
    }
  }
}
