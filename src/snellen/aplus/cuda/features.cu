// Steps 1 to 4 of A+ as one filter bank: low-resolution picture → features.
//
// Bicubic interpolation, differences, patch extraction and PCA are all linear, so a feature is the sum
// of the SIDE × SIDE pixels around its window's centre, weighted by a filter that the host composes of
// all four. The kernel is the matrix product (windows × pixels) · (pixels × dimensions) on tensor cores
// (an implicit GEMM): its left operand is read directly from the picture.
//
// Who holds what: a block computes 32 dimensions of TILE_Y × TILE_X features; its part of the picture
// and the filters are in shared memory. A warp computes rows of TILES · 16 windows.
//
// Barriers: __syncthreads after the tile is loaded (in `level`) and after it is converted.
//
// Why this shape: writing the features, 128 bytes each, is the lower bound of the time, and the many
// windows of a warp amortise the load of each filter fragment. Pixels of a row are read in groups of
// four; the columns that are left over are read in groups of four rows. With PITCH % 16 == 8 no read
// has a bank conflict.
//
// Precision: filters have 22 bits in two parts; sums are float32. Integers of up to 11 bits are exact in
// half precision, two of a column in a word (PAIRED); other samples are split into two TF32 parts. A
// level is subtracted from all samples of a tile first, which changes no feature, because the filters
// sum to zero, and makes flat tiles exactly zero.
//
// For models of format 2 (ORIENTED) features are turned before they are stored, and their squared
// norms are stored, too.
#include "aplus/cuda/orientation.cuh"

constexpr int TILE_X = 32, TILE_Y = 32, WARPS = 8;
constexpr int RADIUS = SIDE / 2;
constexpr int ROWS = TILE_Y + SIDE - 1, COLUMNS = TILE_X + SIDE - 1;
constexpr int PITCH = (COLUMNS + 7) / 16 * 16 + 8;
constexpr int LINES = PAIRED ? (SIDE + 1) / 2 : SIDE;     // rows of words in the tile
constexpr int STRIDE = PAIRED ? 2 * PITCH : PITCH;        // distance between these
constexpr int ACROSS = SIDE / 4, DOWN = (LINES + 3) / 4;  // groups of a row, of a left-over column
constexpr int GROUPS = LINES * ACROSS + SIDE % 4 * DOWN;
constexpr int PRODUCTS = (GROUPS + 1) / 2;  // each takes two groups
constexpr int TILES = 2;  // of 16 neighbouring windows that a warp computes at a time
// Products that one tensor-core sum takes. Tensor cores truncate what is below the last bit of the
// greatest term, so longer sums are float32 additions of these: the error at ×2 is 4 to 7e-7 of white,
// a third of that of 6 products at a time.
constexpr int RUN = PAIRED ? 3 : 1;

static_assert(PITCH >= COLUMNS && PITCH % 16 == 8);

// Returns the offset in the tile of word t of a group.
__device__ __forceinline__ int offset(int group, int t) {
  if (group >= GROUPS) return 0;  // its weights are 0
  if (group < LINES * ACROSS) return group / ACROSS * STRIDE + group % ACROSS * 4 + t;
  const int rest = group - LINES * ACROSS, line = rest % DOWN * 4;
  return (line + min(t, LINES - 1 - line)) * STRIDE + ACROSS * 4 + rest / DOWN;
}

// Loads samples of the picture, with replicated edges, to shared memory; returns this thread's least
// and greatest one.
__device__ float2 load(const SAMPLE *plane, int pitch, int width, int height, int left, int top,
                       float *tile) {
  float least = __int_as_float(0x7f800000), most = -least;
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += WARPS * 32) {
    const int y = i / COLUMNS, x = i % COLUMNS;
    const SAMPLE *row = plane + (size_t)clamp(top + y, height - 1) * pitch;
    const float sample = float(row[clamp(left + x, width - 1)]);
    tile[y * PITCH + x] = sample;
    if (fabsf(sample) > 3.4e38f) continue;  // infinities do not count for the level
    least = fminf(least, sample), most = fmaxf(most, sample);
  }
  return {least, most};
}

// Returns the level that is subtracted from all samples of a block. Integers: the middle of their range,
// which keeps sums small. Floats: the sample nearest to zero (zero if both signs occur), so that small
// samples lose no precision. All threads of the block call it.
__device__ float level(float2 range) {
  __shared__ float2 ranges[WARPS];
#pragma unroll
  for (int lanes = 16; lanes; lanes /= 2) {
    range.x = fminf(range.x, __shfl_xor_sync(ALL, range.x, lanes));
    range.y = fmaxf(range.y, __shfl_xor_sync(ALL, range.y, lanes));
  }
  if (threadIdx.x % 32 == 0) ranges[threadIdx.x / 32] = range;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < WARPS; i++)
    range = {fminf(range.x, ranges[i].x), fmaxf(range.y, ranges[i].y)};
  if (sizeof(SAMPLE) < 4) return floorf((range.x + range.y) / 2);
  return range.x > 0 ? range.x : range.y < 0 ? range.y : 0.f;
}

// Divides by SCALE, the power of two that half-precision filters are multiplied by so that their low
// parts are not subnormal.
__device__ __forceinline__ float4 scaled(float x, float y, float z, float w) {
  return {x / SCALE, y / SCALE, z / SCALE, w / SCALE};
}

// sum += a · w for operands in half precision: words of two halves, the filter's low parts in w.z, w.w.
__device__ __forceinline__ void multiply_pairs(float (&sum)[4], const float (&a)[4], float4 w) {
  const uint32_t words[4] = {__float_as_uint(a[0]), __float_as_uint(a[1]), __float_as_uint(a[2]),
                             __float_as_uint(a[3])};
  multiply_half(sum, words, __float_as_uint(w.z), __float_as_uint(w.w));
  multiply_half(sum, words, __float_as_uint(w.x), __float_as_uint(w.y));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 2)
    features(const SAMPLE *__restrict__ plane, int pitch, int width, int height, int first,
             int rows, const float4 *__restrict__ filters, float4 *__restrict__ out,
             const uint8_t *__restrict__ turns, const uint32_t *__restrict__ kinds,
             float *__restrict__ norms) {
  extern __shared__ float4 weights[];  // [PRODUCTS][4][32 lanes], then the tile
  float (*tile)[ROWS * PITCH] = reinterpret_cast<float (*)[ROWS * PITCH]>(weights + PRODUCTS * 128);
  // Tiles begin at multiples of their height in the picture, wherever a band begins, so that levels do
  // not depend on the bands.
  const int left = blockIdx.x * TILE_X, top = (first / TILE_Y + blockIdx.y) * TILE_Y - first;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;

  filters += blockIdx.z * PRODUCTS * 128;
  for (int i = threadIdx.x; i < PRODUCTS * 128; i += WARPS * 32) weights[i] = filters[i];
  const float2 range =
      load(plane, pitch, width, height, left - RADIUS, first + top - RADIUS, tile[0]);
  const float zero = level(range);
  for (int i = threadIdx.x; i < ROWS * PITCH; i += WARPS * 32) {
    const float sample = tile[0][i] - zero;
    if (PAIRED) {
      const float below = i + PITCH < ROWS * PITCH ? tile[0][i + PITCH] - zero : 0;
      tile[1][i] = __uint_as_float(halves(sample, below));
    } else {
      const Parts parts = split(sample);
      tile[0][i] = parts.high, tile[1][i] = parts.low;
    }
  }
  __syncthreads();

  const uint32_t kind = ORIENTED ? kinds[blockIdx.z * 4 + t] : 0;
  for (int y = warp; y < TILE_Y; y += WARPS) {
    asm volatile(
        "" ::
            : "memory");  // without it the compiler keeps all filters in registers, and spills
    float sum[TILES][4][4] = {};
    int turn[TILES][2] = {};
    if (ORIENTED)
#pragma unroll
      for (int i = 0; i < 2 * TILES; i++) {
        const int column = clamp(left + i * 8 + g, width - 1);
        turn[i / 2][i % 2] = turns[(size_t)clamp(top + y, rows - 1) * width + column];
      }
    const int base = y * PITCH + g;
#pragma unroll
    for (int start = 0; start < PRODUCTS; start += RUN) {
      float a[RUN][TILES][4], low[RUN][TILES][4];
#pragma unroll
      for (int k = 0; k < RUN; k++) {
        const int near = offset(2 * (start + k), t), far = offset(2 * (start + k) + 1, t);
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const int window = base + m * 16;
            const int pixel = window + i % 2 * 8 + (i < 2 ? near : far);
            if (!PAIRED) a[k][m][i] = tile[0][pixel];
            low[k][m][i] = tile[1][pixel];
          }
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        float part[TILES][4] = {};
#pragma unroll
        for (int k = 0; k < RUN; k++) {
          if (start + k >= PRODUCTS) break;
          const float4 w = weights[((start + k) * 4 + j) * 32 + lane];
          const float b[2] = {w.x, w.y}, b_low[2] = {w.z, w.w};
#pragma unroll
          for (int m = 0; m < TILES; m++)
            if (PAIRED)
              multiply_pairs(part[m], low[k][m], w);
            else
              multiply<true, true>(part[m], a[k][m], low[k][m], b, b_low);
        }
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
          for (int i = 0; i < 4; i++) sum[m][j][i] += part[m][i];
      }
    }
    float norm[TILES][2];
    if (ORIENTED)
#pragma unroll
      for (int i = 0; i < 2 * TILES; i++)
        norm[i / 2][i % 2] = turned_norm(sum[i / 2], i % 2 * 2, kind, turn[i / 2][i % 2]);
#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int row = top + y, column = left + m * 16 + half * 8 + g;
        if (row < 0 || row >= rows || column >= width) continue;
        float4 *target = out + ((size_t)row * width + column) * (DIMS / 4) + blockIdx.z * 8 + t;
        const int c = half * 2;
        target[0] = scaled(sum[m][0][c], sum[m][0][c + 1], sum[m][1][c], sum[m][1][c + 1]);
        target[4] = scaled(sum[m][2][c], sum[m][2][c + 1], sum[m][3][c], sum[m][3][c + 1]);
        if (ORIENTED && t == 0)
          norms[((size_t)blockIdx.z * rows + row) * width + column] =
              norm[m][half] / (SCALE * SCALE);
      }
  }
}
