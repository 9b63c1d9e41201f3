// Step 5b of A+: the high-resolution patch, projection of the chosen anchor times the feature.
//
// A warp takes a tile of sixteen patches of one anchor (see group.cu): a matrix product of sixteen
// features with that anchor's projection, which is read once for all sixteen. Float32 features are
// split into two TF32 parts, so are projections unless they are kept as half-precision numbers, which
// are TF32 numbers already; the sums are as exact as float32's.
//
// Why this shape: patches are written once, in rows of whole 32-byte sectors; that and reading the
// features is what takes the time. More warps an SM hide the latency of the two dependent loads in
// front (patch, then its anchor).
#include "device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int TILES = ROW / 8;  // of eight samples of a patch
constexpr int WARPS = 4;
#ifndef BUNCH
#define BUNCH 4
#define BLOCKS 5
#endif
constexpr int PART = TILES <= 18 ? TILES : 16;  // tiles of a block: their sums lie in registers
constexpr bool HALF = sizeof(PROJECTION) == 2;

// Lane t of column g: its eight values of the projection, k = 4t … 4t+3 and 16+4t … 16+4t+3 of a slab.
__device__ __forceinline__ void load(const PROJECTION *row, int t, float (&b)[8]) {
  if (HALF) {
    const uint4 w = __ldg(reinterpret_cast<const uint4 *>(row) + t);
    const uint32_t words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float2 pair = floats(words[i]);
      b[2 * i] = pair.x, b[2 * i + 1] = pair.y;
    }
  } else {
    const float4 *quads = reinterpret_cast<const float4 *>(row) + 2 * t;
    const float4 near = __ldg(quads), far = __ldg(quads + 1);
    b[0] = near.x, b[1] = near.y, b[2] = near.z, b[3] = near.w;
    b[4] = far.x, b[5] = far.y, b[6] = far.z, b[7] = far.w;
  }
}

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
__device__ __forceinline__ void project(const Rows &rows, const PROJECTION *projection, int t,
                                        int count, float (&sum)[PART][4]) {
  float a[4][4], a_low[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const float4 upper = rows.part[k / 2 * 2], lower = rows.part[k / 2 * 2 + 1];
    const float values[4] = {k % 2 ? upper.z : upper.x, k % 2 ? lower.z : lower.x,
                             k % 2 ? upper.w : upper.y, k % 2 ? lower.w : lower.y};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const Parts parts = split(values[i]);
      a[k][i] = parts.high, a_low[k][i] = parts.low;
    }
  }
#pragma unroll
  for (int j = 0; j < PART; j++) {
    if (j >= count) break;
    float b[8];
    load(projection + (size_t)j * 8 * DIMS, t, b);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const Parts first = HALF ? Parts{b[2 * k], 0} : split(b[2 * k]);
      const Parts second = HALF ? Parts{b[2 * k + 1], 0} : split(b[2 * k + 1]);
      const float high[2] = {first.high, second.high}, low[2] = {first.low, second.low};
      multiply<true, !HALF>(sum[j], a[k], a_low[k], high, low);
    }
  }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, BLOCKS)
    regress(const float4 *__restrict__ features, const uint16_t *__restrict__ index,
            const int *__restrict__ order, const int *__restrict__ tiles,
            const PROJECTION *__restrict__ projections, float *__restrict__ patches) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first = (blockIdx.x * WARPS + threadIdx.x / 32) * BUNCH;
  const int last = min(first + BUNCH, *tiles), part = blockIdx.y * PART;
  if (first >= last) return;
  // Lane t + 4·g of entry[i] is patch g + 8·i of the bunch, and its anchor. The first patch of a tile
  // is never missing, but tiles after the last are all that its last patch is.
  int entry[2 * BUNCH], anchor[BUNCH];
#pragma unroll
  for (int i = 0; i < 2 * BUNCH; i++) entry[i] = order[min(first * 16 + i * 8 + g, last * 16 - 1)];
#pragma unroll
  for (int i = 0; i < BUNCH; i++) anchor[i] = index[max(__shfl_sync(ALL, entry[2 * i], 0), 0)];

  Rows next = fetch(features, entry[0], entry[1], t);
#pragma unroll
  for (int i = 0; i < BUNCH; i++) {
    if (first + i >= last) break;
    const int above = entry[2 * i], below = entry[2 * i + 1];
    const PROJECTION *projection =
        projections + ((size_t)anchor[i] * ROW + part * 8 + g) * DIMS;
    float sum[PART][4] = {};
    const Rows rows = next;
    if (SLABS == 1 && i + 1 < BUNCH) next = fetch(features, entry[2 * i + 2], entry[2 * i + 3], t);
    project(rows, projection, t, TILES - part, sum);
#pragma unroll
    for (int slab = 1; slab < SLABS; slab++)
      project(fetch(features + slab * 8, above, below, t), projection + slab * 32, t, TILES - part,
              sum);
    if (SLABS > 1 && i + 1 < BUNCH) next = fetch(features, entry[2 * i + 2], entry[2 * i + 3], t);
#pragma unroll
    for (int j = 0; j < PART; j++) {
      if (part + j >= TILES) break;
      const size_t sample = (part + j) * 8 + 2 * t;
      if (above >= 0)
        *reinterpret_cast<float2 *>(patches + (size_t)above * ROW + sample) = {sum[j][0], sum[j][1]};
      if (below >= 0)
        *reinterpret_cast<float2 *>(patches + (size_t)below * ROW + sample) = {sum[j][2], sum[j][3]};
    }
  }
}
