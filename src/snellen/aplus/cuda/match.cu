// Step 5a of A+: the anchor of each feature, arg-max over all anchors of |anchor · feature|.
//
// `match` scores in half precision on the tensor cores, keeps in registers the best
// score and the runner-up among groups of MEMBERS anchors, scores those of the best group again in
// float32, those of the second group where another might still win, and lists the few features that
// this leaves undecided. `settle` scores them against all anchors in float32. So the anchor is that
// of float32 arithmetic for every feature; the bound that proves it stands in docs/aplus.md.
//
// A warp holds 16 · TILES features and runs over all anchors, CHUNK of them in shared memory at a
// time; the match matrix never leaves registers. Lane t of four holds dimensions 4t … 4t+3 and
// 16+4t … 16+4t+3 of each 32, so features, anchors and fragments are read as 16-byte vectors without
// bank conflicts.
//
// Why half-precision sums, and mma.sync: with 32 dimensions a sum is read and written twice for each
// maximum taken of it, so what takes the time is the way to the registers; float32 sums double it, and
// Hopper's wgmma gains a tenth of a frame at the price of a second path (lab/aplus-gpu.md).
#include "best.cuh"
#include "gpu/device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int VECTORS = SLABS * 32;  // 16-byte vectors of a tile of eight anchors
constexpr int STEP = JOINED * 8;     // anchors between two updates of the best
constexpr int STEPS = ANCHORS / STEP, CHUNK_STEPS = CHUNK / STEP;
constexpr int ROWS = TILES * 16;     // features of a warp
constexpr int BATCH = WARPS * ROWS;  // features of a block
constexpr int MEMBERS = JOINED;      // anchors of a group: those of one column in a step
constexpr int QUADS = DIMS / 4;      // 16-byte vectors of a feature

// From the host, all rounded up (match.py): HALF, the error of a feature in half precision; UNIT, that
// of a half-precision sum of 16 products: a unit in the last place, whether a card rounds or cuts off;
// ROUNDING, of float32 and of what tensor cores cut off below that unit, all told; SMALLEST, below
// which they may take a half for zero. PTX promises only "at least half precision" for these sums; a
// test checks them on the card. ANCHOR_SCALE: of half-precision anchors, so that few are that small.

static_assert(ANCHORS % STEP == 0 && CHUNK % STEP == 0 && DIMS % 32 == 0);

// Sums of four lanes for each member: lane t is left with MEMBERS / 4, from first_left(t) on.
__device__ __forceinline__ void gather(float (&v)[MEMBERS], int t) {
#pragma unroll
  for (int bit = 1, half = MEMBERS / 2; bit < 4; bit *= 2, half /= 2)
#pragma unroll
    for (int m = 0; m < half; m++) {
      const float mine = t & bit ? v[m + half] : v[m], other = t & bit ? v[m] : v[m + half];
      v[m] = mine + __shfl_xor_sync(ALL, other, bit);
    }
}

__device__ __forceinline__ int first_left(int t) {
  return (t & 1) * (MEMBERS / 2) + (t >> 1) * (MEMBERS / 4);
}

__device__ __forceinline__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// The best of a group in float32, for the feature of four lanes.
__device__ Best member(const float4 *feature, const float4 *anchors, int group, int t) {
  float v[MEMBERS] = {};
  const float4 *anchor = anchors + (size_t)group * MEMBERS * QUADS + t;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++) {
    const float4 near = __ldg(feature + slab * 8 + t), far = __ldg(feature + slab * 8 + 4 + t);
#pragma unroll
    for (int m = 0; m < MEMBERS; m++)
      v[m] += dot(near, __ldg(anchor + m * QUADS + slab * 8)) +
              dot(far, __ldg(anchor + m * QUADS + slab * 8 + 4));
  }
  gather(v, t);
  const int first = group * MEMBERS + first_left(t);
  Best best = {fabsf(v[0]), first};
#pragma unroll
  for (int m = 1; m < MEMBERS / 4; m++) best = better(best, {fabsf(v[m]), first + m});
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2)
    best = better(best, {__shfl_xor_sync(ALL, best.score, lanes),
                         __shfl_xor_sync(ALL, best.anchor, lanes)});
  return best;
}

// Greatest of the four lanes that hold a row.
__device__ __forceinline__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 1));
  return fmaxf(x, __shfl_xor_sync(ALL, x, 2));
}

__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(ALL, x, 1);
  return x + __shfl_xor_sync(ALL, x, 2);
}

// One row of a fragment: the feature times a power of two, in half precision, and what that costs.
struct Row {
  float scale;  // 0 for a feature that is zero
  float error;  // of any score, beside a unit in the last place of the score itself; scaled alike
};

__device__ Row halve(const float4 *feature, int t, int half, uint32_t (&fragment)[SLABS][8],
                     float anchor_error) {
  float4 part[2 * SLABS];
  float greatest = 0;
#pragma unroll
  for (int i = 0; i < 2 * SLABS; i++) {
    const float4 p = part[i] = __ldg(feature + i * 4 + t);
    greatest = fmaxf(greatest, fmaxf(fmaxf(fabsf(p.x), fabsf(p.y)), fmaxf(fabsf(p.z), fabsf(p.w))));
  }
  greatest = row_max(greatest);
  // To 2⁶ … 2⁷: 128 dimensions and anchors of norm 16 stay below 65504, the largest half.
  const int exponent = __float_as_int(greatest) >> 23;
  const float scale = __int_as_float(min(260 - exponent, 254) << 23);
  float norm = 0, sums = 0;
#pragma unroll
  for (int i = 2 * SLABS - 1; i >= 0; i--) {
    const float x = part[i].x * scale, y = part[i].y * scale;
    const float z = part[i].z * scale, w = part[i].w * scale;
    norm += row_sum(x * x + y * y + z * z + w * w);
    if (i) sums += sqrtf(norm);  // of the partial sums, each at most the norm of what it sums
    fragment[i / 2][i % 2 * 4 + half] = halves(x, y);
    fragment[i / 2][i % 2 * 4 + 2 + half] = halves(z, w);
  }
  const float error = sqrtf(norm) * (HALF + anchor_error + ROUNDING) + UNIT * sums + SMALLEST * DIMS;
  const bool tiny = exponent < 10;  // scales would be cut or infinite: leave it to float32
  return {greatest == 0 ? 0.f : scale, tiny ? __int_as_float(0x7f800000) : error};
}

// What a lane knows of a row, in two halves: those of its even and of its odd column.
struct Ranks {
  uint32_t best, second;  // scores of the best and the second best group
  uint32_t step;          // of the best
};

// Takes the scores of two groups into account, one in each half.
__device__ __forceinline__ void update(const uint32_t (*score)[2], int half, int step,
                                       Ranks &ranks) {
  uint32_t top = abs2(score[0][half]);
#pragma unroll
  for (int j = 1; j < JOINED; j++) top = max2(top, abs2(score[j][half]));
  const uint32_t better = above2(top, ranks.best);
  ranks.step = (ranks.step & ~better) | (step * 0x10001u & better);
  ranks.second = max2(ranks.second, min2(ranks.best, top));
  ranks.best = max2(ranks.best, top);
}

// The same for choosing: groups in descending order, and the greatest score of all that are not known.
struct Standing {
  float score[2];
  int group[2];
  float unknown;

  __device__ __forceinline__ Standing(const Ranks &ranks, int t) {
    const float2 best = floats(ranks.best), second = floats(ranks.second);
    const bool odd = best.y > best.x;
    const int even_group = int(ranks.step & 0xffff) * 8 + 2 * t;
    const int odd_group = int(ranks.step >> 16) * 8 + 2 * t + 1;
    score[0] = fmaxf(best.x, best.y), score[1] = fminf(best.x, best.y);
    group[0] = odd ? odd_group : even_group, group[1] = odd ? even_group : odd_group;
    unknown = fmaxf(second.x, second.y);
  }

  // Takes out the best group of four lanes; `next` becomes the greatest score of any other.
  __device__ __forceinline__ int pop(int lane, float &next) {
    const float top = row_max(score[0]);
    const uint32_t winners = __ballot_sync(ALL, score[0] == top) >> (lane & 28) & 15;
    const int winner = max(__ffs(winners) - 1, 0);
    const int found = __shfl_sync(ALL, group[0], (lane & 28) + winner);
    if (lane % 4 == winner) score[0] = score[1], group[0] = group[1], score[1] = 0;
    next = row_max(fmaxf(score[0], unknown));
    return found;
  }
};

// Whether a score in float32 is greater than every true one whose half-precision score is at most
// `next`.
__device__ __forceinline__ bool beats(float score, float next, float error) {
  return score > next + next * UNIT + error;
}

// Appends the warp's features for which `mine` holds to the list.
__device__ __forceinline__ void append(bool mine, int p, int lane, int *listed, int *list) {
  const uint32_t who = __ballot_sync(ALL, mine);
  if (!who) return;
  int place = lane ? 0 : atomicAdd(listed, __popc(who));
  place = __shfl_sync(ALL, place, 0);
  if (mine) list[place + __popc(who & ((1u << lane) - 1))] = p;
}

// Scores of the warp's features with STEP anchors. Columns 2t and 2t + 1 of tile j land in lane t of
// each row as the two halves of score[…][j][0] (upper row) and score[…][j][1] (lower row). The last
// sixteen dimensions, which carry the least energy, come first: their sum is rounded once more.
__device__ __forceinline__ void scores(const uint32_t (&features)[TILES][SLABS][8],
                                       const uint4 *anchors, uint32_t (&score)[TILES][JOINED][2]) {
#pragma unroll
  for (int j = 0; j < JOINED; j++) {
#pragma unroll
    for (int m = 0; m < TILES; m++) score[m][j][0] = score[m][j][1] = 0;
#pragma unroll
    for (int slab = SLABS - 1; slab >= 0; slab--) {
      const uint4 b = anchors[(j * SLABS + slab) * 32];
#pragma unroll
      for (int m = 0; m < TILES; m++) multiply_half(score[m][j], features[m][slab] + 4, b.z, b.w);
#pragma unroll
      for (int m = 0; m < TILES; m++) multiply_half(score[m][j], features[m][slab], b.x, b.y);
    }
  }
}

// Asks for the features that the warp will want next.
__device__ __forceinline__ void prefetch(const float4 *features, int first, int count, int lane) {
#pragma unroll
  for (int line = lane; line < ROWS * SLABS; line += 32)
    if (first + line / SLABS < count)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(features + (size_t)first * QUADS + line * 8));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
    match(const float4 *__restrict__ features, int count, const uint4 *__restrict__ half_anchors,
          const float4 *__restrict__ anchors, float anchor_error, uint16_t *__restrict__ index,
          int *__restrict__ listed, int *__restrict__ list) {
  extern __shared__ uint4 chunk[];  // [CHUNK / 8][VECTORS]
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;

  for (int block = blockIdx.x; block * BATCH < count; block += gridDim.x) {
    const int first = block * BATCH + warp * ROWS + g;
    uint32_t fragment[TILES][SLABS][8];
    Ranks ranks[2 * TILES] = {};  // rows g, g + 8 … of the warp's
    Row kept[(TILES + 1) / 2];    // lane t keeps those of rows i with i % 4 = t
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
      const float4 *feature = features + (size_t)min(first + i * 8, count - 1) * QUADS;
      const Row row = halve(feature, t, i % 2, fragment[i / 2], anchor_error);
      if (t == i % 4) kept[i / 4] = row;
    }
    prefetch(features, (block + gridDim.x) * BATCH + warp * ROWS, count, lane);

    for (int start = 0; start < STEPS; start += CHUNK_STEPS) {
      if (CHUNK < ANCHORS || block == blockIdx.x) {
        const int size = min(CHUNK_STEPS, STEPS - start) * JOINED * VECTORS;
        if (CHUNK < ANCHORS) __syncthreads();
        for (int i = threadIdx.x; i < size; i += WARPS * 32)
          chunk[i] = half_anchors[start * JOINED * VECTORS + i];
        __syncthreads();
      }
      const int end = min(start + CHUNK_STEPS, STEPS);
      const uint4 *anchor = chunk + lane;
#pragma unroll 1
      for (int step = start; step < end; step++, anchor += JOINED * VECTORS) {
        uint32_t score[TILES][JOINED][2];
        scores(fragment, anchor, score);
#pragma unroll
        for (int i = 0; i < 2 * TILES; i++) update(score[i / 2], i % 2, step, ranks[i]);
      }
    }

#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
      const int p = first + i * 8, keeper = (lane & 28) + i % 4;
      const float4 *feature = features + (size_t)min(p, count - 1) * QUADS;
      const float scale = __shfl_sync(ALL, kept[i / 4].scale, keeper) * ANCHOR_SCALE;
      const float error = __shfl_sync(ALL, kept[i / 4].error, keeper) * ANCHOR_SCALE;
      Standing standing(ranks[i], t);
      float next;
      Best found = member(feature, anchors, standing.pop(lane, next), t);
      bool sure = scale == 0 || beats(found.score * scale, next, error);
      if (__any_sync(ALL, !sure)) {
        found = better(found, member(feature, anchors, standing.pop(lane, next), t));
        sure = sure || beats(found.score * scale, next, error);
      }
      const bool real = t == 0 && p < count;
      if (real) index[p] = scale == 0 ? 0 : found.anchor;
      append(real && !sure, p, lane, listed, list);
    }
  }
}
