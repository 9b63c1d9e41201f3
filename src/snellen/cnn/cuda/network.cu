// A compact network (cnn/definition.py) in one kernel: bicubic enlargement plus the network's result,
// from the samples of the small picture to those of the large one.
//
// Who holds what: a block computes the large samples of TILE_X × TILE_Y small ones. It computes the
// activations that these depend on by itself, so that none goes to global memory: those of convolution
// k (0 … LAYERS) for MARGIN − k samples around the tile. Two areas of shared memory take turns, a
// convolution reads one and writes the other; v stays in a third. An area is [row][octet of channels]
// [PITCH samples][8 channels] in half precision; sample (y, x) of any convolution is in row y, column x.
//
// A warp computes GROUP · 16 samples of a convolution at a time, for all channels: a matrix product
// (samples × taps and channels) · (taps and channels × channels) on tensor cores. A tap is an offset in
// the area, the same for all samples. Weights come from global memory by way of the L1 cache, in the
// order of the right operands (layout.py).
//
// Barriers: __syncthreads after v is loaded and after each convolution: what a convolution reads is
// complete, and what it overwrites has been read.
//
// Edges: samples outside of the picture are the nearest of its edge, for v only. Every sum has one
// order, so no result depends on the tile that it is computed in.
//
// Why tiles: they compute the body 1.25 to 1.5 times, which the goal allows; a pipeline of rows would do
// so 1.1 times, but each of its steps waits for the one before (lab/cnn.md).
//
// Precision: weights and activations are half precision, sums float32. v of 8 bits is exact in half
// precision; others take PARTS = 2 halves. Activations beyond 65504 become that: they stay finite.
#include "frames/bicubic.cuh"

constexpr int THREADS = WARPS * 32;
constexpr int MARGIN = LAYERS + 1, REACH = LAYERS + 2;  // around the tile: of convolution 0, of v
constexpr int PITCH = TILE_X + 2 * MARGIN, ROWS = TILE_Y + 2 * MARGIN;
constexpr int COLUMN = 16;                      // bytes of an octet of channels
constexpr int OCTET = PITCH * COLUMN;           // distances in an area, in bytes
constexpr int ROW = CHANNELS / 8 * OCTET;
constexpr int V_PITCH = TILE_X + 2 * REACH, V_ROWS = TILE_Y + 2 * REACH;
constexpr int V_SIZE = V_PITCH * V_ROWS;
constexpr int CELLS = TILE_X * TILE_Y;
constexpr int PHASE = CELLS + 4;                // distance of phases of the result, in floats: no conflicts
constexpr int PHASES = SCALE * SCALE;
constexpr int N = CHANNELS / 8, LAST_N = (PHASES + 7) / 8;  // right operands of eight columns each
constexpr int STEPS = 9 * CHANNELS / 16;        // products along the taps and channels of a convolution
constexpr int FIRST_STEPS = 1, SKIP_STEPS = (SIDE * SIDE + 15) / 16;

static_assert(CHANNELS % 16 == 0 && CELLS % 16 == 0 && FIRST_BYTES % 16 == 0 && SECOND_BYTES % 16 == 0);
static_assert(FIRST_BYTES >= ROWS * ROW && SECOND_BYTES >= (LAYERS ? (ROWS - 2) * ROW : 0));
static_assert((LAYERS % 2 ? FIRST_BYTES : SECOND_BYTES) >= PHASES * PHASE * 4);

// Words of the right operands of `count` columns of eight, for one step.
__device__ constexpr int words(int count) { return count * 64; }

// Divides by a width below 2¹⁶, for numerators below 2¹⁶, exactly.
struct Width {
  int width;
  uint32_t inverse;
  __device__ explicit Width(int width) : width(width), inverse(0xffffffffu / width + 1) {}
  __device__ __forceinline__ int row(int i) const { return __umulhi(i, inverse); }
};

// Reads the right operands of one step: two words for each eight columns.
template <int COUNT>
__device__ __forceinline__ void load_weights(uint32_t (&b)[2 * COUNT], const uint32_t *weights) {
  const int lane = threadIdx.x % 32;
  if (COUNT == 1) {
    const uint2 w = __ldg(reinterpret_cast<const uint2 *>(weights) + lane);
    b[0] = w.x, b[1] = w.y;
  } else {
#pragma unroll
    for (int pair = 0; pair < COUNT / 2; pair++) {
      const uint4 w = __ldg(reinterpret_cast<const uint4 *>(weights) + pair * 32 + lane);
      b[4 * pair] = w.x, b[4 * pair + 1] = w.y, b[4 * pair + 2] = w.z, b[4 * pair + 3] = w.w;
    }
  }
}

// Sets all sums to the bias of their column.
template <int COUNT>
__device__ __forceinline__ void begin(float (&sum)[GROUP][COUNT][4], const float *bias) {
#pragma unroll
  for (int n = 0; n < COUNT; n++) {
    const float2 b = __ldg(reinterpret_cast<const float2 *>(bias + 8 * n) + threadIdx.x % 4);
#pragma unroll
    for (int m = 0; m < GROUP; m++)
      sum[m][n][0] = sum[m][n][2] = b.x, sum[m][n][1] = sum[m][n][3] = b.y;
  }
}

// Adds a 3×3 convolution of all channels. from[m]: address of this lane's row of the left operands at
// the first tap.
template <int COUNT>
__device__ __forceinline__ void convolve(float (&sum)[GROUP][COUNT][4],
                                         const uint32_t (&from)[GROUP], const uint32_t *weights) {
#pragma unroll 1  // unrolled, its loads would take more registers than there are
  for (int row = 0; row < 3; row++, weights += STEPS / 3 * words(COUNT))
#pragma unroll
    for (int step = 0; step < STEPS / 3; step++) {
      uint32_t b[2 * COUNT];
      load_weights<COUNT>(b, weights + step * words(COUNT));
      const int tap = step / (CHANNELS / 16), q = step % (CHANNELS / 16);
      const int offset = row * ROW + tap * COLUMN + 2 * q * OCTET;
#pragma unroll
      for (int m = 0; m < GROUP; m++) {
        uint32_t a[4];
        load_fragment(a, from[m] + offset);
#pragma unroll
        for (int n = 0; n < COUNT; n++) multiply_half(sum[m][n], a, b[2 * n], b[2 * n + 1]);
      }
    }
}

// The offset in v of tap k of a filter of TAPS × TAPS; taps beyond its end have weight 0.
template <int TAPS>
__device__ __forceinline__ int offset(int k) {
  return k < TAPS * TAPS ? k / TAPS * V_PITCH + k % TAPS : 0;
}

__device__ __forceinline__ uint32_t pair(const uint16_t *v, int low, int high) {
  return v[low] | uint32_t(v[high]) << 16;
}

// Adds a filter of TAPS × TAPS samples of v. from[m][half]: place of the first tap of row g + 8 · half.
template <int TAPS, int COUNT>
__device__ __forceinline__ void filter(float (&sum)[GROUP][COUNT][4], const uint16_t *v,
                                       const int (&from)[GROUP][2], const uint32_t *weights) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int step = 0; step < (TAPS * TAPS + 15) / 16; step++) {
    uint32_t b[2 * COUNT];
    load_weights<COUNT>(b, weights + step * words(COUNT));
    const int k = 16 * step + 2 * t;
    const int near[2] = {offset<TAPS>(k), offset<TAPS>(k + 1)};
    const int far[2] = {offset<TAPS>(k + 8), offset<TAPS>(k + 9)};
#pragma unroll 1
    for (int part = PARTS - 1; part >= 0; part--)
#pragma unroll
      for (int m = 0; m < GROUP; m++) {
        const uint16_t *upper = v + part * V_SIZE + from[m][0], *lower = v + part * V_SIZE + from[m][1];
        const uint32_t a[4] = {pair(upper, near[0], near[1]), pair(lower, near[0], near[1]),
                               pair(upper, far[0], far[1]), pair(lower, far[0], far[1])};
#pragma unroll
        for (int n = 0; n < COUNT; n++) multiply_half(sum[m][n], a, b[2 * n], b[2 * n + 1]);
      }
  }
}

// Applies PReLU and writes the sums of samples first … first + GROUP · 16 − 1 of `count` to an area.
__device__ __forceinline__ void store(const float (&sum)[GROUP][N][4], const float *slope,
                                      uint8_t *to, int first, int count, Width across) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  float2 slopes[N];
#pragma unroll
  for (int n = 0; n < N; n++) slopes[n] = __ldg(reinterpret_cast<const float2 *>(slope + 8 * n) + t);
#pragma unroll
  for (int m = 0; m < GROUP; m++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int i = first + m * 16 + half * 8 + g;
      if (i >= count) continue;
      const int y = across.row(i), x = i - y * across.width;
      uint8_t *target = to + y * ROW + x * COLUMN + t * 4;
#pragma unroll
      for (int n = 0; n < N; n++) {
        const float a = sum[m][n][2 * half], b = sum[m][n][2 * half + 1];
        *reinterpret_cast<uint32_t *>(target + n * OCTET) =
            finite_halves(a < 0 ? a * slopes[n].x : a, b < 0 ? b * slopes[n].y : b);
      }
    }
}

// Loads v with what surrounds the tile: code · factor − 1.
__device__ void load(const SAMPLE *plane, int pitch, int width, int height, float factor,
                     uint16_t *v) {
  const int left = blockIdx.x * TILE_X - REACH, top = blockIdx.y * TILE_Y - REACH;
  for (int i = threadIdx.x; i < V_SIZE; i += THREADS) {
    const int y = clamp(top + i / V_PITCH, height - 1), x = clamp(left + i % V_PITCH, width - 1);
    const float code = float(__ldg(plane + (size_t)y * pitch + x)), value = code * factor - 1;
    const uint32_t high = finite_halves(value, 0);
    v[i] = uint16_t(high);
    if (PARTS == 2) v[V_SIZE + i] = uint16_t(finite_halves(value - floats(high).x, 0));
  }
}

// Convolution 0: v to CHANNELS channels.
__device__ void first_convolution(const uint16_t *v, uint8_t *to, const uint32_t *weights,
                                  const float *bias) {
  constexpr int COUNT = PITCH * ROWS;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int first = warp * GROUP * 16; first < COUNT; first += WARPS * GROUP * 16) {
    int from[GROUP][2];
#pragma unroll
    for (int m = 0; m < GROUP; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int i = min(first + m * 16 + half * 8 + lane / 4, COUNT - 1);
        from[m][half] = i / PITCH * V_PITCH + i % PITCH;
      }
    float sum[GROUP][N][4];
    begin(sum, bias);
    filter<3>(sum, v, from, weights);
    store(sum, bias + CHANNELS, to, first, COUNT, Width(PITCH));
  }
}

// Returns the addresses of this lane's rows of the left operands, for samples from `first` on.
__device__ __forceinline__ void rows(uint32_t (&from)[GROUP], const uint8_t *area, int first,
                                     int count, Width across) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < GROUP; m++) {
    const int i = min(first + m * 16 + lane % 16, count - 1);
    const int y = across.row(i), x = i - y * across.width;
    from[m] = shared_address(area + y * ROW + x * COLUMN + lane / 16 * OCTET);
  }
}

// A convolution of the body, which makes width × height samples.
__device__ void body_convolution(const uint8_t *area, uint8_t *to, int width, int height,
                                 const uint32_t *weights, const float *bias) {
  const Width across(width);
  const int count = width * height;
  for (int first = threadIdx.x / 32 * GROUP * 16; first < count; first += WARPS * GROUP * 16) {
    uint32_t from[GROUP];
    rows(from, area, first, count, across);
    float sum[GROUP][N][4];
    begin(sum, bias);
    convolve(sum, from, weights);
    store(sum, bias + CHANNELS, to, first, count, across);
  }
}

// The last convolution and the linear filter of v: the result as float32, [phase][PHASE samples].
__device__ void last_convolution(const uint8_t *area, const uint16_t *v, float *to,
                                 const uint32_t *weights, const float *bias) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int first = threadIdx.x / 32 * GROUP * 16; first < CELLS; first += WARPS * GROUP * 16) {
    float sum[GROUP][LAST_N][4];
    begin(sum, bias);
    int around[GROUP][2];
#pragma unroll
    for (int m = 0; m < GROUP; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int i = min(first + m * 16 + half * 8 + g, CELLS - 1);
        around[m][half] =
            (i / TILE_X + REACH - SIDE / 2) * V_PITCH + i % TILE_X + REACH - SIDE / 2;
      }
    filter<SIDE>(sum, v, around, weights);
    uint32_t from[GROUP];
    rows(from, area, first, CELLS, Width(TILE_X));
    convolve(sum, from, weights + SKIP_STEPS * words(LAST_N));
#pragma unroll
    for (int m = 0; m < GROUP; m++)
#pragma unroll
      for (int n = 0; n < LAST_N; n++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const int i = first + m * 16 + k / 2 * 8 + g, phase = 8 * n + 2 * t + k % 2;
          if (i < CELLS && phase < PHASES) to[phase * PHASE + i] = sum[m][n][k];
        }
  }
}

// factor: of a code to v + 1; gain: of the result to codes. weights: right operands of all
// convolutions; numbers: bias and slope of each, the bias of the last. depth_factor, depth_offset,
// white: see `quantise`.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    network(const SAMPLE *__restrict__ plane, int pitch, int width, int height,
            const uint32_t *__restrict__ weights, const float *__restrict__ numbers,
            TARGET *__restrict__ out, int out_pitch, float factor, float gain, float depth_factor,
            float depth_offset, float white) {
  extern __shared__ uint4 memory[];
  uint8_t *area = reinterpret_cast<uint8_t *>(memory), *other = area + FIRST_BYTES;
  uint16_t *v = reinterpret_cast<uint16_t *>(area + FIRST_BYTES + SECOND_BYTES);

  load(plane, pitch, width, height, factor, v);
  __syncthreads();
  first_convolution(v, area, weights, numbers);
  weights += FIRST_STEPS * words(N), numbers += 2 * CHANNELS;
  __syncthreads();
#pragma unroll 1
  for (int k = 1; k <= LAYERS; k++) {
    body_convolution(area, other, PITCH - 2 * k, ROWS - 2 * k, weights, numbers);
    weights += STEPS * words(N), numbers += 2 * CHANNELS;
    uint8_t *const read = area;
    area = other, other = read;
    __syncthreads();
  }
  float *result = reinterpret_cast<float *>(other);
  last_convolution(area, v, result, weights, numbers);
  __syncthreads();

  for (int i = threadIdx.x; i < CELLS; i += THREADS) {
    const int x = blockIdx.x * TILE_X + i % TILE_X, y = blockIdx.y * TILE_Y + i / TILE_X;
    if (x >= width || y >= height) continue;
    float pixels[SCALE][SCALE];
    enlarge(plane, pitch, width, height, y, x, pixels);
#pragma unroll
    for (int j = 0; j < SCALE; j++) {
      TARGET *row = out + ((size_t)y * SCALE + j) * out_pitch + (size_t)x * SCALE;
#pragma unroll
      for (int k = 0; k < SCALE; k++) {
        const float found = pixels[j][k] + gain * result[(j * SCALE + k) * PHASE + i];
        row[k] = quantise<TARGET>(found, depth_factor, depth_offset, white);
      }
    }
  }
}
