// A compact network (cnn/definition.py) in one kernel: bicubic enlargement plus the network's result,
// from the samples of the small picture to those of the large one.
//
// Who holds what: a block computes the large samples of TILE_X × TILE_Y small ones. It computes the
// activations that these depend on by itself, so that none goes to global memory: those of convolution
// k (0 … LAYERS) for MARGIN − k samples around the tile. Two areas of shared memory take turns, a
// convolution reads one and writes the other; v stays in a third. Octets of channels lie together, as
// 16 bytes a sample in half precision; `Area` says where.
//
// A warp computes GROUP · 16 samples of a convolution at a time, for all channels: a matrix product
// (samples × taps and channels) · (taps and channels × channels) on tensor cores. A tap is an offset in
// the area, the same for all samples. Weights come from global memory by way of the L1 cache, in the
// order of the right operands (layout.py). With WARPGROUPS, on Hopper, four warps compute 64 samples of
// the body together, from areas and weights in shared memory; the weights of the next convolution are
// brought there meanwhile.
//
// Barriers: __syncthreads after v is loaded and after each convolution (`settle`): what a convolution
// reads is complete, and what it overwrites has been read.
//
// Edges: samples outside of the picture are the nearest of its edge, for v only. Every sum has one
// order, so no result depends on the tile that it is computed in.
//
// Why tiles: they compute the body 1.25 to 1.75 times, which the goal allows; a pipeline of rows would do
// so 1.1 times, but each of its steps waits for the one before (lab/cnn.md).
//
// Precision: weights and activations are half precision, sums float32. v of 8 bits is exact in half
// precision; others take PARTS = 2 halves. Activations beyond 65504 become that: they stay finite.
#include "cnn/cuda/convolution.cuh"
#include "frames/bicubic.cuh"

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
    store(sum, bias + CHANNELS, to, 0, first, Width(PITCH));
  }
}

// Convolution k, of the body.
#if WARPGROUPS
// Adds the products of row ROW of four, of which an even row of samples sees the first three, and the one
// below it the last three.
template <int ROW, typename T>
__device__ __forceinline__ void add_row(T &sum, uint32_t left, uint32_t right, Area area) {
#pragma unroll
  for (int step = 0; step < STEPS / 3; step++) {
    const int tap = step / (CHANNELS / 16), q = step % (CHANNELS / 16);
    const int offset = area.row(ROW) + tap * COLUMN + 2 * q * area.octet;
    multiply_by_warpgroup(sum, left + offset / 16, right + (6 * step + max(2 - ROW, 0)) * CHANNELS);
  }
}

// A warpgroup computes 64 samples of even rows at a time, and those below them: a row that both see is a
// left operand once, for 64 columns. Samples are counted through the even rows of what is read: so the
// left operand of each tap is 64 neighbours in an octet. Those that cross the end of a row are not stored.
// weights: in shared memory, those of the last row of taps first.
__device__ void body_convolution(const uint8_t *read, uint8_t *to, int k, const uint32_t *weights,
                                 const float *bias) {
  const Area area(k - 1);
  const Width across(PITCH - 2 * (k - 1));
  const int warp = __shfl_sync(ALL, threadIdx.x / 32, 0);  // the compiler sees that lanes have the same
  const int count = across.width * (ROWS - 2 * k) / 2;
  const uint32_t left = operand(read, area.octet), right = operand(weights, 3 * CHANNELS * 16);
  for (int first = warp / 4 * 64; first < count; first += WARPS * 16) {
    float upper[1][N][4], lower[1][N][4], both[2][N][4];
    begin(upper, bias), begin(both, bias);
    begin_products();
    add_row<0>(upper[0], left + first, right, area);
    end_products(upper);
    copy(both[0], upper[0]);
    begin_products();
    add_row<1>(both, left + first, right, area);
    add_row<2>(both, left + first, right, area);
    end_products(both);
    copy(upper[0], both[0]), copy(lower[0], both[1]);
    begin_products();
    add_row<3>(lower[0], left + first, right, area);
    end_products(lower);
    store<2>(upper, bias + CHANNELS, to, k, first + warp % 4 * 16, across, 0);
    store<2>(lower, bias + CHANNELS, to, k, first + warp % 4 * 16, across, 1);
  }
}
#else
__device__ void body_convolution(const uint8_t *read, uint8_t *to, int k, const uint32_t *weights,
                                 const float *bias) {
  const Area area(k - 1);
  const Width across(PITCH - 2 * k);
  const int count = across.width * (ROWS - 2 * k);
  for (int first = threadIdx.x / 32 * GROUP * 16; first < count; first += WARPS * GROUP * 16) {
    uint32_t from[GROUP];
    rows(from, read, area, first, count, across);
    float sum[GROUP][N][4];
    begin(sum, bias);
    convolve(sum, from, area, weights);
    store(sum, bias + CHANNELS, to, k, first, across);
  }
}
#endif

// Begins to copy the weights of a convolution of the body to shared memory.
__device__ void bring(uint32_t *to, const uint32_t *weights) {
  for (int i = threadIdx.x * 4; i < BODY; i += THREADS * 4) copy_ahead(to + i, weights + i);
}

// Waits until all threads have written what the next convolution reads.
__device__ void settle() {
  if (WARPGROUPS) copied(), publish();
  __syncthreads();
}

// The last convolution and the linear filter of v: the result as float32, [phase][PHASE samples].
__device__ void last_convolution(const uint8_t *read, const uint16_t *v, float *to,
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
    rows(from, read, Area(LAYERS), first, CELLS, Width(TILE_X));
    convolve(sum, from, Area(LAYERS), weights + SKIP_STEPS * words(LAST_N));
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
  // With WARPGROUPS: the weights of this and of the next convolution.
  uint32_t *brought = reinterpret_cast<uint32_t *>(area + FIRST_BYTES + SECOND_BYTES);
  uint16_t *v = reinterpret_cast<uint16_t *>(brought + (WARPGROUPS ? 2 * BODY : 0));

  load(plane, pitch, width, height, factor, v);
  __syncthreads();
  const uint32_t *const first = weights;
  weights += FIRST_STEPS * words(N);
  if (WARPGROUPS && LAYERS) bring(brought + BODY, weights);
  first_convolution(v, area, first, numbers);
  numbers += 2 * CHANNELS;
  settle();
#pragma unroll 1
  for (int k = 1; k <= LAYERS; k++) {
    if (WARPGROUPS && k < LAYERS) bring(brought + (k + 1) % 2 * BODY, weights + BODY);
    const uint32_t *const own = WARPGROUPS ? brought + k % 2 * BODY : weights;
    body_convolution(area, other, k, own, numbers);
    weights += BODY, numbers += 2 * CHANNELS;
    uint8_t *const read = area;
    area = other, other = read;
    settle();
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
