// Step 5b of A+: computes high-resolution patches, the projection of the chosen anchor times the feature.
//
// Who holds what: a warp computes BUNCH tiles of sixteen patches, one after another. All patches of a
// tile have one anchor (group.cu), so a tile is a matrix product of sixteen features with the projection
// of that anchor, which is read once for all sixteen. Operands and sums are in registers.
//
// Barriers: none; warps do not communicate.
//
// Precision: features are split into two TF32 parts, and so are projections, unless these are stored in
// half precision, which TF32 represents exactly. The sums are as exact as those of float32.
//
// Why this shape: reading features and writing patches is the limit; patches are written in whole
// 32-byte sectors, and many warps hide the latency of the two dependent loads before them (order, then
// anchor).
#include "gpu/device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int TILES = ROW / 8;       // of eight samples each
constexpr int WARPS = 4, BUNCH = 4;  // tiles of a warp
constexpr bool HALF = sizeof(PROJECTION) == 2;
constexpr int PART =
    HALF ? 6 : 3;  // tiles of samples whose sums and projections are in registers at a time
constexpr int VECTORS = HALF ? 1 : 2;  // 16-byte vectors of eight values, a lane's part of one tile
constexpr int ENTRY = DIMS / (HALF ? 8 : 4);  // 16-byte vectors of a row of a projection

// Eight values of column g of a projection that lane t holds: dimensions 4t … 4t+3 and 16+4t … 16+4t+3
// of a slab of 32.
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

// The features of sixteen patches as left operands: four dimensions of the upper row and of the lower
// one, then the other four.
struct Rows {
  float4 part[4];
};

__device__ __forceinline__ Rows fetch(const float4 *features, int above, int below, int t) {
  const float4 *top = features + (size_t)max(above, 0) * (DIMS / 4) + t;
  const float4 *bottom = features + (size_t)max(below, 0) * (DIMS / 4) + t;
  return {__ldg(top), __ldg(bottom), __ldg(top + 4), __ldg(bottom + 4)};
}

// Computes sum += features · projectionᵀ over one slab of 32 dimensions.
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
  // entry[i] in lane t + 4·g is patch g + 8·i of the bunch, −1 if it is padding. The first patch of a
  // tile is never padding; tiles after the last one repeat its last entry.
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
    // Consecutive tiles mostly have the same anchor: a projection that is completely in registers is not
    // read again.
    const bool cached = TILES <= PART && SLABS == 1 && i && anchor[i] == anchor[max(i - 1, 0)];
#if __CUDA_ARCH__ < 800
#pragma unroll 1  // unrolled, the shuffled products take minutes to compile
#else
#pragma unroll
#endif
    for (int start = 0; start < TILES; start += PART) {
      float sum[PART][4] = {};
#pragma unroll
      for (int slab = 0; slab < SLABS; slab++) {
        if (!cached)
#pragma unroll
          for (int j = 0; j < PART; j++)
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
              if (start + j < TILES)
                columns[j].words[v] =
                    __ldg(projection + (size_t)(start + j) * 8 * ENTRY + slab * 4 * VECTORS + v);
        project(slab ? fetch(features + slab * 8, above, below, t) : rows, columns, sum);
      }
      if (above >= 0) store(patches + (size_t)above * ROW, t, start, false, sum);
      if (below >= 0) store(patches + (size_t)below * ROW, t, start, true, sum);
    }
  }
}
