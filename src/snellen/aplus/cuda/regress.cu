// Step 5b of A+: the high-resolution patch, projection of the chosen anchor times the feature.
//
// A warp takes tiles of sixteen patches of one anchor (see group.cu), four one after another: a matrix
// product of sixteen features with that anchor's projection, which is read once for all sixteen.
// Float32 features are split into two TF32 parts, so are projections unless they are kept as
// half-precision numbers, which are TF32 numbers already; the sums are as exact as float32's.
//
// Why this shape: patches are written once, in rows of whole 32-byte sectors; that and reading the
// features is what takes the time. More warps an SM hide the latency of the two dependent loads in
// front (patch, then its anchor).
#include "gpu/device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int TILES = ROW / 8;  // of eight samples of a patch
constexpr int WARPS = 4, BUNCH = 4;  // tiles a warp takes one after another
constexpr bool HALF = sizeof(PROJECTION) == 2;
constexpr int PART = HALF ? 6 : 3;           // tiles whose sums and projections lie in registers
constexpr int VECTORS = HALF ? 1 : 2;        // of 16 bytes, of one tile and lane: eight values
constexpr int ENTRY = DIMS / (HALF ? 8 : 4); // vectors of a row of a projection

// Lane t of column g: its eight values of the projection, k = 4t … 4t+3 and 16+4t … 16+4t+3 of a slab.
struct Column {
  uint4 words[VECTORS];

  __device__ __forceinline__ float value(int k) const {
    const uint4 v = words[HALF ? 0 : k / 4];
    const int i = HALF ? k / 2 : k % 4;
    const uint32_t word = i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
    if (!HALF) return __uint_as_float(word);
    const float2 pair = floats(word);
    return k % 2 ? pair.y : pair.x;
  }
};

// Features of sixteen patches as left operands: near and far four dimensions, upper and lower row.
struct Rows {
  float4 part[4];
};

__device__ __forceinline__ Rows fetch(const float4 *features, int above, int below, int t) {
  const float4 *top = features + (size_t)max(above, 0) * (DIMS / 4) + t;
  const float4 *bottom = features + (size_t)max(below, 0) * (DIMS / 4) + t;
  return {__ldg(top), __ldg(bottom), __ldg(top + 4), __ldg(bottom + 4)};
}

// sum += features · projectionᵀ over one slab of 32 dimensions.
__device__ __forceinline__ void project(const Rows &rows, const Column (&columns)[PART],
                                        float (&sum)[PART][4]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const float4 upper = rows.part[k / 2 * 2], lower = rows.part[k / 2 * 2 + 1];
    const float values[4] = {k % 2 ? upper.z : upper.x, k % 2 ? lower.z : lower.x,
                             k % 2 ? upper.w : upper.y, k % 2 ? lower.w : lower.y};
    float a[4], a_low[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const Parts parts = split(values[i]);
      a[i] = parts.high, a_low[i] = parts.low;
    }
#pragma unroll
    for (int j = 0; j < PART; j++) {
      const float near = columns[j].value(2 * k), far = columns[j].value(2 * k + 1);
      const Parts first = HALF ? Parts{near, 0} : split(near);
      const Parts second = HALF ? Parts{far, 0} : split(far);
      const float high[2] = {first.high, second.high}, low[2] = {first.low, second.low};
      multiply<true, !HALF>(sum[j], a, a_low, high, low);
    }
  }
}

__device__ __forceinline__ void store(float *patch, int t, int start, bool lower,
                                      const float (&sum)[PART][4]) {
#pragma unroll
  for (int j = 0; j < PART; j++)
    if (start + j < TILES)
      *reinterpret_cast<float2 *>(patch + (start + j) * 8 + 2 * t) = {sum[j][2 * lower],
                                                                      sum[j][2 * lower + 1]};
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, ROW > 40 ? 4 : 5)
    regress(const float4 *__restrict__ features, const uint16_t *__restrict__ index,
            const int *__restrict__ order, const int *__restrict__ tiles,
            const uint4 *__restrict__ projections, float *__restrict__ patches) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first = (blockIdx.x * WARPS + threadIdx.x / 32) * BUNCH;
  const int last = min(first + BUNCH, *tiles);
  if (first >= last) return;
  // Lane t + 4·g of entry[i] is patch g + 8·i of the bunch. The first patch of a tile is never
  // missing, but tiles after the last are all that its last patch is.
  int entry[2 * BUNCH], anchor[BUNCH];
#pragma unroll
  for (int i = 0; i < 2 * BUNCH; i++) entry[i] = order[min(first * 16 + i * 8 + g, last * 16 - 1)];
#pragma unroll
  for (int i = 0; i < BUNCH; i++) anchor[i] = index[max(__shfl_sync(ALL, entry[2 * i], 0), 0)];

  Column columns[PART];
  Rows next = fetch(features, entry[0], entry[1], t);
#pragma unroll
  for (int i = 0; i < BUNCH; i++) {
    if (first + i >= last) break;
    const int above = entry[2 * i], below = entry[2 * i + 1];
    const Rows rows = next;
    if (i + 1 < BUNCH) next = fetch(features, entry[2 * i + 2], entry[2 * i + 3], t);
    const uint4 *projection = projections + ((size_t)anchor[i] * ROW + g) * ENTRY + VECTORS * t;
    // Neighbours mostly have the same anchor: where one part holds all of it, it is read once.
    const bool held = TILES <= PART && SLABS == 1 && i && anchor[i] == anchor[max(i - 1, 0)];
#if __CUDA_ARCH__ < 800
#pragma unroll 1  // or its shuffled products take minutes to compile
#else
#pragma unroll
#endif
    for (int start = 0; start < TILES; start += PART) {
      float sum[PART][4] = {};
#pragma unroll
      for (int slab = 0; slab < SLABS; slab++) {
        if (!held)
#pragma unroll
          for (int j = 0; j < PART; j++)
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
              if (start + j < TILES)
                columns[j].words[v] = __ldg(projection + (size_t)(start + j) * 8 * ENTRY +
                                            slab * 4 * VECTORS + v);
        project(slab ? fetch(features + slab * 8, above, below, t) : rows, columns, sum);
      }
      if (above >= 0) store(patches + (size_t)above * ROW, t, start, false, sum);
      if (below >= 0) store(patches + (size_t)below * ROW, t, start, true, sum);
    }
  }
}
