// What the convolutions of network.cu share: where samples and weights lie in shared memory, products of a
// warp, and what becomes of their sums. network.cu says who holds what.
//
// Macros from the host, by `Layout` of layout.py: SCALE, LAYERS, CHANNELS, SIDE, PARTS, TILE_X, TILE_Y, WARPS,
// BLOCKS, GROUP, WARPGROUPS, FIRST_BYTES, SECOND_BYTES. Barriers: none.
#pragma once
#include "cnn/cuda/warpgroup.cuh"

constexpr int THREADS = WARPS * 32;
constexpr int MARGIN = LAYERS + 1, REACH = LAYERS + 2;  // around the tile: of convolution 0, of v
constexpr int PITCH = TILE_X + 2 * MARGIN, ROWS = TILE_Y + 2 * MARGIN;
constexpr int COLUMN = 16;                      // bytes of an octet of channels
constexpr int V_PITCH = TILE_X + 2 * REACH, V_ROWS = TILE_Y + 2 * REACH;
constexpr int V_SIZE = V_PITCH * V_ROWS;
constexpr int CELLS = TILE_X * TILE_Y;
constexpr int PHASE = CELLS + 4;                // distance of phases of the result, in floats: no conflicts
constexpr int PHASES = SCALE * SCALE;
constexpr int N = CHANNELS / 8, LAST_N = (PHASES + 7) / 8;  // right operands of eight columns each
constexpr int STEPS = 9 * CHANNELS / 16;        // products along the taps and channels of a convolution
constexpr int BODY = STEPS * N * 64;            // words of the weights of a convolution of the body
constexpr int FIRST_STEPS = 1, SKIP_STEPS = (SIDE * SIDE + 15) / 16;

// Where the samples of convolution k are: bytes from one octet of channels to the next, from an even row to
// the next, and from a row to the next but one. Rows are [octet][PITCH samples]. With WARPGROUPS octets
// are [row][samples], without gaps: neighbours in a row are so from row to row. What the body reads then is
// in two such parts, even rows and odd ones.
struct Area {
  int octet, next, two;
  __device__ constexpr explicit Area(int k) : octet(PITCH * COLUMN), next(), two() {
    const int width = PITCH - 2 * k, height = ROWS - 2 * k, parts = k < LAYERS ? 2 : 1;
    if (WARPGROUPS) octet = width * height / parts * COLUMN;
    next = !WARPGROUPS || parts == 2 ? CHANNELS / 8 * octet : width * COLUMN;
    two = WARPGROUPS ? 2 / parts * width * COLUMN : 2 * next;
  }
  __device__ __forceinline__ int row(int y) const {
    return WARPGROUPS ? y / 2 * two + y % 2 * next : y * next;
  }
};

__device__ constexpr int area_bytes(int k) {
  return (PITCH - (WARPGROUPS ? 2 * k : 0)) * (ROWS - 2 * k) * CHANNELS * 2;
}

static_assert(CHANNELS % 16 == 0 && CELLS % 16 == 0 && FIRST_BYTES % 16 == 0 && SECOND_BYTES % 16 == 0);
static_assert(FIRST_BYTES >= area_bytes(0) && SECOND_BYTES >= (LAYERS ? area_bytes(1) : 0));
static_assert(!WARPGROUPS || (CHANNELS == 32 && WARPS % 4 == 0 && TILE_Y % 2 == 0));
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
template <int TILES, int COUNT>
__device__ __forceinline__ void begin(float (&sum)[TILES][COUNT][4], const float *bias) {
#pragma unroll
  for (int n = 0; n < COUNT; n++) {
    const float2 b = __ldg(reinterpret_cast<const float2 *>(bias + 8 * n) + threadIdx.x % 4);
#pragma unroll
    for (int m = 0; m < TILES; m++)
      sum[m][n][0] = sum[m][n][2] = b.x, sum[m][n][1] = sum[m][n][3] = b.y;
  }
}

// Adds a 3×3 convolution of all channels of an area. from[m]: address of this lane's row of the left
// operands at the first tap.
template <int COUNT>
__device__ __forceinline__ void convolve(float (&sum)[GROUP][COUNT][4],
                                         const uint32_t (&from)[GROUP], Area area,
                                         const uint32_t *weights) {
#pragma unroll 1  // unrolled, its loads would take more registers than there are
  for (int row = 0; row < 3; row++, weights += STEPS / 3 * words(COUNT))
#pragma unroll
    for (int step = 0; step < STEPS / 3; step++) {
      uint32_t b[2 * COUNT];
      load_weights<COUNT>(b, weights + step * words(COUNT));
      const int tap = step / (CHANNELS / 16), q = step % (CHANNELS / 16);
      const int offset = row * area.next + tap * COLUMN + 2 * q * area.octet;
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

// Applies PReLU and writes the sums of TILES · 16 samples of convolution k, from `first` on. They are
// counted through rows of `across`: those of STEP, from row `top` on. What is beyond the convolution's width
// is dropped.
template <int STEP = 1, int TILES>
__device__ __forceinline__ void store(const float (&sum)[TILES][N][4], const float *slope,
                                      uint8_t *to, int k, int first, Width across, int top = 0) {
  const Area area(k);
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  float2 slopes[N];
#pragma unroll
  for (int n = 0; n < N; n++) slopes[n] = __ldg(reinterpret_cast<const float2 *>(slope + 8 * n) + t);
#pragma unroll
  for (int m = 0; m < TILES; m++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int i = first + m * 16 + half * 8 + g;
      if (i >= across.width * (ROWS - 2 * k) / STEP) continue;
      const int row = across.row(i), x = i - row * across.width, y = row * STEP + top;
      if (WARPGROUPS && x >= PITCH - 2 * k) continue;
      uint8_t *target = to + area.row(y) + x * COLUMN + t * 4;
#pragma unroll
      for (int n = 0; n < N; n++) {
        const float a = sum[m][n][2 * half], b = sum[m][n][2 * half + 1];
        *reinterpret_cast<uint32_t *>(target + n * area.octet) =
            finite_halves(a < 0 ? a * slopes[n].x : a, b < 0 ? b * slopes[n].y : b);
      }
    }
}

// Returns the addresses of this lane's rows of the left operands, for samples from `first` on.
__device__ __forceinline__ void rows(uint32_t (&from)[GROUP], const uint8_t *read, Area area,
                                     int first, int count, Width across) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < GROUP; m++) {
    const int i = min(first + m * 16 + lane % 16, count - 1);
    const int y = across.row(i), x = i - y * across.width;
    from[m] = shared_address(read + y * area.next + x * COLUMN + lane / 16 * area.octet);
  }
}
