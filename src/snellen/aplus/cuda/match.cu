// Step 5a of A+: the anchor of each feature, the arg-max over all anchors of |anchor · feature|.
//
// `match` computes all scores in half precision on tensor cores and keeps the best score and the
// second best among groups of MEMBERS anchors in registers. It scores the best group again in
// float32, the second one only where another anchor may still win, and lists the few features that
// remain undecided; `settle` (settle.cu) compares these with all anchors in float32. So the anchor
// is that of float32 arithmetic for every feature. docs/aplus.md derives the bound that proves it;
// half_scores.cuh computes it.
//
// Who holds what: a warp holds 16 · TILES features in registers and loops over all anchors, CHUNK
// of them in shared memory at a time; scores never leave registers.
//
// Barriers: __syncthreads before and after each load of a chunk.
//
// Why half-precision sums and mma.sync: with 32 dimensions a sum is read and written twice for each
// maximum, so register bandwidth is the limit; float32 sums double it. Hopper's wgmma gains a tenth
// of a frame at the price of a second path (lab/aplus-gpu.md).
#include "best.cuh"
#include "half_scores.cuh"

constexpr int STEPS = ANCHORS / STEP, CHUNK_STEPS = CHUNK / STEP;
constexpr int BATCH = WARPS * ROWS;  // features of a block
constexpr int MEMBERS = JOINED;      // anchors of a group: those of one column in a step

static_assert(CHUNK % STEP == 0);

// Sums v over four lanes (a reduce-scatter): lane t gets the sums of MEMBERS / 4 members, from
// first_member(t) on.
__device__ __forceinline__ void reduce_scatter(float (&v)[MEMBERS], int t) {
#pragma unroll
  for (int bit = 1, half = MEMBERS / 2; bit < 4; bit *= 2, half /= 2)
#pragma unroll
    for (int m = 0; m < half; m++) {
      const float mine = t & bit ? v[m + half] : v[m], other = t & bit ? v[m] : v[m + half];
      v[m] = mine + __shfl_xor_sync(ALL, other, bit);
    }
}

__device__ __forceinline__ int first_member(int t) {
  return (t & 1) * (MEMBERS / 2) + (t >> 1) * (MEMBERS / 4);
}

__device__ __forceinline__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// Returns the best anchor of a group in float32, for the feature of four lanes.
__device__ Best best_of_group(const float4 *feature, const float4 *anchors, int group, int t) {
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
  reduce_scatter(v, t);
  const int first = group * MEMBERS + first_member(t);
  Best best = {fabsf(v[0]), first};
#pragma unroll
  for (int m = 1; m < MEMBERS / 4; m++) best = better(best, {fabsf(v[m]), first + m});
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2)
    best = better(
        best, {__shfl_xor_sync(ALL, best.score, lanes), __shfl_xor_sync(ALL, best.anchor, lanes)});
  return best;
}

// The best groups that a lane has seen of a row, packed as halves: low those of its even column,
// high those of its odd one.
struct Ranks {
  uint32_t best, second;  // scores of the best and the second best group
  uint32_t step;          // in which the best was found
};

// Updates the ranks with the scores of two groups, one in each half.
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

// The same as floats: two groups in descending order, and the greatest score of all other groups.
struct Candidates {
  float score[2];
  int group[2];
  float rest;

  __device__ __forceinline__ Candidates(const Ranks &ranks, int t) {
    const float2 best = floats(ranks.best), second = floats(ranks.second);
    const bool odd = best.y > best.x;
    const int even_group = int(ranks.step & 0xffff) * 8 + 2 * t;
    const int odd_group = int(ranks.step >> 16) * 8 + 2 * t + 1;
    score[0] = fmaxf(best.x, best.y), score[1] = fminf(best.x, best.y);
    group[0] = odd ? odd_group : even_group, group[1] = odd ? even_group : odd_group;
    rest = fmaxf(second.x, second.y);
  }

  // Removes and returns the best group of four lanes; `next` becomes the greatest score of any
  // other.
  __device__ __forceinline__ int pop(int lane, float &next) {
    const float top = row_max(score[0]);
    const uint32_t winners = __ballot_sync(ALL, score[0] == top) >> (lane & 28) & 15;
    const int winner = max(__ffs(winners) - 1, 0);
    const int found = __shfl_sync(ALL, group[0], (lane & 28) + winner);
    if (lane % 4 == winner) score[0] = score[1], group[0] = group[1], score[1] = 0;
    next = row_max(fmaxf(score[0], rest));
    return found;
  }
};

// Returns whether a score in float32 is greater than every exact one whose half-precision score is at
// most `next`.
__device__ __forceinline__ bool wins(float score, float next, float error) {
  return score > exact_at_most(next, error);
}

// Appends feature p of each lane whose `undecided` is true to the list.
__device__ __forceinline__ void append(bool undecided, int p, int lane, int *listed, int *list) {
  const uint32_t who = __ballot_sync(ALL, undecided);
  if (!who) return;
  int place = lane ? 0 : atomicAdd(listed, __popc(who));
  place = __shfl_sync(ALL, place, 0);
  if (undecided) list[place + __popc(who & ((1u << lane) - 1))] = p;
}

// Prefetches the warp's next features into L2.
__device__ __forceinline__ void prefetch(const float4 *features, int first, int count, int lane) {
#pragma unroll
  for (int line = lane; line < ROWS * SLABS; line += 32)
    if (first + line / SLABS < count)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(features + (size_t)first * QUADS + line * 8));
}

// Grid: any number of blocks, which share the features. Dynamic shared memory: a chunk of anchors.
// `list` gets the features that are undecided, `listed` their number; it must be 0 before.
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
    Row rows[(TILES + 1) / 2];    // lane t holds those of rows i with i % 4 = t
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
      const float4 *feature = features + (size_t)min(first + i * 8, count - 1) * QUADS;
      const Row row = halve(feature, t, i % 2, fragment[i / 2], anchor_error);
      if (t == i % 4) rows[i / 4] = row;
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
      const int p = first + i * 8, holder = (lane & 28) + i % 4;
      const float4 *feature = features + (size_t)min(p, count - 1) * QUADS;
      const float scale = __shfl_sync(ALL, rows[i / 4].scale, holder) * ANCHOR_SCALE;
      const float error = __shfl_sync(ALL, rows[i / 4].error, holder) * ANCHOR_SCALE;
      Candidates candidates(ranks[i], t);
      float next;
      Best found = best_of_group(feature, anchors, candidates.pop(lane, next), t);
      bool sure = scale == 0 || wins(found.score * scale, next, error);
      if (__any_sync(ALL, !sure)) {
        found = better(found, best_of_group(feature, anchors, candidates.pop(lane, next), t));
        sure = sure || wins(found.score * scale, next, error);
      }
      const bool real = t == 0 && p < count;
      if (real) index[p] = scale == 0 ? 0 : found.anchor;
      append(real && !sure, p, lane, listed, list);
    }
  }
}
