// Step 5a of A+: the anchor of each feature, arg-max over all anchors of |anchor · feature|.
//
// `match` scores in half precision with float32 sums on the tensor cores, keeps in registers the best
// score and the runner-up among groups of MEMBERS anchors, scores those of the best group again in
// float32, and lists the few features for which another group might still win. `settle` scores those
// against all anchors in float32. So the anchor is that of float32 arithmetic for every feature; the
// bound that proves it stands in docs/aplus.md.
//
// A warp holds 16 · TILES features and runs over all anchors, CHUNK of them in shared memory at a
// time (scores.cuh); the match matrix never leaves registers. `lane t` of four holds dimensions
// 4t … 4t+3 and 16+4t … 16+4t+3 of each 32, so features, anchors and fragments are read as 16-byte
// vectors without bank conflicts.
#include "best.cuh"
#include "scores.cuh"

constexpr int STEP = JOINED * 8;  // anchors between two updates of the best
constexpr int STEPS = ANCHORS / STEP, CHUNK_STEPS = CHUNK / STEP;
constexpr int BATCH = WARPS * TILES * 16;  // features of a block
constexpr int MEMBERS = JOINED * 2;        // anchors of a group: those of one lane in a step

// The step is kept in the low bits of a score.
__device__ constexpr int bits(int n) { return n > 1 ? 1 + bits((n + 1) / 2) : 0; }
constexpr uint32_t STEP_MASK = (1u << bits(STEPS)) - 1;

// Relative error of what is computed beside the rounding to half precision: DIMS sums of the tensor
// cores ("at least single precision", PTX ISA: an ulp each), as many in float32, and their norms.
constexpr float ROUNDING = DIMS * 4.8e-7f;  // 2⁻²¹ each
// By how much a score may be less than the one whose low bits hold the step.
constexpr float PACKING = 2 * STEP_MASK * 1.2e-7f;  // 2⁻²³ of the score for each unit, twice
constexpr float ANCHOR_SCALE = 16384;  // of the half-precision anchors: none is subnormal

static_assert(ANCHORS % (SPAN * 8) == 0 && CHUNK % (SPAN * 8) == 0 && DIMS % 32 == 0);

// Sums of four lanes for each member: lane t is left with MEMBERS / 4 of them, from `kept(t)` on.
__device__ __forceinline__ void gather(float (&v)[MEMBERS], int t) {
#pragma unroll
  for (int bit = 1, half = MEMBERS / 2; bit < 4; bit *= 2, half /= 2)
#pragma unroll
    for (int m = 0; m < half; m++) {
      const float mine = t & bit ? v[m + half] : v[m], other = t & bit ? v[m] : v[m + half];
      v[m] = mine + __shfl_xor_sync(ALL, other, bit);
    }
}

__device__ __forceinline__ int kept(int t) {
  return (t & 1) * (MEMBERS / 2) + (t >> 1) * (MEMBERS / 4);
}

__device__ __forceinline__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// Features of a warp, row by row: in memory, or in shared memory where they were brought ahead. There
// odd rows have the halves of their slabs exchanged, so that lanes of two rows meet no bank twice.
struct Features {
  const float4 *rows;
  int last;

  __device__ __forceinline__ float4 operator()(int row, int vector) const {
    if (STAGED) return rows[row * (DIMS / 4) + (vector ^ (row & 1) * 4)];
    return __ldg(rows + (size_t)min(row, last) * (DIMS / 4) + vector);
  }
};

// The best of a group in float32, for the feature of four lanes.
__device__ Best member(const Features &features, int row, const float4 *anchors, int group, int t) {
  float v[MEMBERS] = {};
  const float4 *first_anchor = anchors + (size_t)group * MEMBERS * (DIMS / 4) + t;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++) {
    const float4 near = features(row, slab * 8 + t), far = features(row, slab * 8 + 4 + t);
#pragma unroll
    for (int m = 0; m < MEMBERS; m++)
      v[m] += dot(near, __ldg(first_anchor + m * (DIMS / 4) + slab * 8)) +
              dot(far, __ldg(first_anchor + m * (DIMS / 4) + slab * 8 + 4));
  }
  gather(v, t);
  const int first = group * MEMBERS + kept(t);
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
  float error;  // bound of |score - true score| for unit anchors, both scaled
};

__device__ Row halve(const Features &features, int row, int t, int half,
                     uint32_t (&fragment)[SLABS][8], float anchor_error) {
  float4 part[SLABS][2];
  float greatest = 0;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float4 p = part[slab][i] = features(row, slab * 8 + i * 4 + t);
      greatest = fmaxf(greatest, fmaxf(fmaxf(fabsf(p.x), fabsf(p.y)), fmaxf(fabsf(p.z), fabsf(p.w))));
    }
  greatest = row_max(greatest);
  // To 2¹⁴ … 2¹⁵: the largest half is 65504, and what is subnormal there is below 2⁻²⁸ of it.
  const int exponent = __float_as_int(greatest) >> 23;
  const float scale = __int_as_float(min(268 - exponent, 254) << 23);
  float norm = 0, lost = 0;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float4 p = part[slab][i];
      const float x = p.x * scale, y = p.y * scale, z = p.z * scale, w = p.w * scale;
      const uint32_t low = halves(x, y), high = halves(z, w);
      const float2 xy = floats(low), zw = floats(high);
      norm += xy.x * xy.x + xy.y * xy.y + zw.x * zw.x + zw.y * zw.y;
      lost += (x - xy.x) * (x - xy.x) + (y - xy.y) * (y - xy.y) + (z - zw.x) * (z - zw.x) +
              (w - zw.y) * (w - zw.y);
      fragment[slab][i * 4 + half] = low, fragment[slab][i * 4 + 2 + half] = high;
    }
  const float subnormal = 6.1e-5f * DIMS;  // what tensor cores may take for zero: 2⁻¹⁴ each
  const float error = 1.0001f * (sqrtf(row_sum(lost)) + subnormal) +
                      1.0001f * sqrtf(row_sum(norm)) * (anchor_error + ROUNDING);
  const bool tiny = exponent < 14;  // the scale above was cut: leave it to float32
  return {greatest == 0 ? 0.f : scale, tiny ? __int_as_float(0x7f800000) : error};
}

// What four lanes know of a row: the best and the second best group of each, packed with its step.
struct Ranks {
  float best, second;
};

// Takes the scores of a group into account. Anchors are kept as half the sum and half the difference
// of two, u and v: |u| + |v| is the greater of the two absolute scores, and an addition runs on a
// wider unit than a maximum.
__device__ __forceinline__ void update(const float (*score)[4], int half, int step, Ranks &ranks) {
  float top = fabsf(score[0][half]) + fabsf(score[0][half + 1]);
#pragma unroll
  for (int j = 1; j < JOINED; j++)
    top = fmaxf(top, fabsf(score[j][half]) + fabsf(score[j][half + 1]));
  top = __uint_as_float((__float_as_uint(top) & ~STEP_MASK) | step);
  ranks.second = fmaxf(ranks.second, fminf(ranks.best, top));
  ranks.best = fmaxf(ranks.best, top);
}

// Whether a score in float32 is greater than every true score whose packed half-precision one is at
// most `next`.
__device__ __forceinline__ bool beats(float score, float next, float error) {
  return score > next + next * PACKING + error;
}

// The group with the greatest score, its score, and the greatest score of any other.
struct Leader {
  int group;
  float score, next;
};

__device__ __forceinline__ Leader lead(Ranks ranks, int lane) {
  float top = ranks.best, next = ranks.second;
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2) {
    const float other = __shfl_xor_sync(ALL, top, lanes);
    next = fmaxf(fmaxf(next, __shfl_xor_sync(ALL, next, lanes)), fminf(top, other));
    top = fmaxf(top, other);
  }
  const uint32_t winners = __ballot_sync(ALL, ranks.best == top) >> (lane & 28) & 15;
  return {int(__float_as_uint(top) & STEP_MASK) * 4 + max(__ffs(winners) - 1, 0), top, next};
}

// Appends the warp's features for which `mine` holds to the list.
__device__ __forceinline__ void append(bool mine, int p, int lane, int *listed, int *list) {
  const uint32_t who = __ballot_sync(ALL, mine);
  if (!who) return;
  int place = lane ? 0 : atomicAdd(listed, __popc(who));
  place = __shfl_sync(ALL, place, 0);
  if (mine) list[place + __popc(who & ((1u << lane) - 1))] = p;
}

// Starts bringing the features of a warp to shared memory.
__device__ __forceinline__ void bring(const float4 *features, int first, int last, int lane,
                                      float4 *rows) {
#pragma unroll
  for (int i = lane; i < TILES * 16 * (DIMS / 4); i += 32) {
    const int row = i / (DIMS / 4), vector = i % (DIMS / 4);
    copy_ahead(rows + row * (DIMS / 4) + (vector ^ (row & 1) * 4),
               features + (size_t)min(first + row, last) * (DIMS / 4) + vector);
  }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
    match(const float4 *__restrict__ features, int count, const uint4 *__restrict__ half_anchors,
          const float4 *__restrict__ anchors, float anchor_error, uint16_t *__restrict__ index,
          int *__restrict__ listed, int *__restrict__ list) {
  // [CHUNK / 8][VECTORS] anchors, then [WARPS][2][TILES · 16][DIMS / 4] features where they are STAGED
  extern __shared__ __align__(128) uint4 chunk[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  constexpr int ROWS = TILES * 16;
  float4 *stage = reinterpret_cast<float4 *>(chunk + CHUNK / 8 * VECTORS) + warp * 2 * ROWS * (DIMS / 4);
  int turn = 0;
  if (STAGED) bring(features, (blockIdx.x * WARPS + warp) * ROWS, count - 1, lane, stage);

  for (int block = blockIdx.x; block * BATCH < count; block += gridDim.x, turn ^= 1) {
    const int first = block * BATCH + warp * ROWS;
    Features mine = {features + (size_t)min(first, count - 1) * (DIMS / 4), count - 1 - min(first, count - 1)};
    if (STAGED) {
      mine.rows = stage + turn * ROWS * (DIMS / 4);
      copied();
      __syncwarp();
      bring(features, first + gridDim.x * BATCH, count - 1, lane, stage + (turn ^ 1) * ROWS * (DIMS / 4));
    }
    uint32_t fragment[TILES][SLABS][8];
    Ranks ranks[TILES][2] = {};
    Row kept[(TILES + 1) / 2];  // lane t keeps that of row (m, half) for 2m + half = t, modulo 4
#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const Row row = halve(mine, m * 16 + half * 8 + g, t, half, fragment[m], anchor_error);
        if (t == (2 * m + half) % 4) kept[m / 2] = row;
      }

    for (int start = 0; start < STEPS; start += CHUNK_STEPS) {
      if (CHUNK < ANCHORS || block == blockIdx.x) {
        const int size = min(CHUNK_STEPS, STEPS - start) * JOINED * VECTORS;
        if (CHUNK < ANCHORS) __syncthreads();
        for (int i = threadIdx.x; i < size; i += WARPS * 32)
          chunk[i] = half_anchors[start * JOINED * VECTORS + i];
        publish();
        __syncthreads();
      }
      const int end = min(start + CHUNK_STEPS, STEPS);
#pragma unroll 1
      for (int step = start; step < end; step += SPAN / JOINED) {
        float score[TILES][SPAN][4];
        scores(score, fragment, chunk + (step - start) * JOINED * VECTORS, lane);
#pragma unroll
        for (int group = 0; group < SPAN / JOINED; group++)
#pragma unroll
          for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int half = 0; half < 2; half++)
              update(score[m] + group * JOINED, half * 2, step + group, ranks[m][half]);
      }
    }

#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int row = m * 16 + half * 8 + g, p = first + row;
        const int keeper = (lane & 28) + (2 * m + half) % 4;
        const float scale = __shfl_sync(ALL, kept[m / 2].scale, keeper) * ANCHOR_SCALE;
        const float error = __shfl_sync(ALL, kept[m / 2].error, keeper) * ANCHOR_SCALE;
        Ranks rank = ranks[m][half];
        Leader leader = lead(rank, lane);
        Best found = member(mine, row, anchors, leader.group, t);
        bool sure = scale == 0 || beats(found.score * scale, leader.next, error);
        if (__any_sync(ALL, !sure)) {
          // Once more, with the second group, unless that is of the winner's lane, whose third is not
          // known.
          const bool winner = leader.group % 4 == t;
          const bool known = row_max(rank.second * winner) < leader.next;
          if (winner) rank.best = rank.second;
          leader = lead(rank, lane);
          found = better(found, member(mine, row, anchors, leader.group, t));
          sure = sure || (known && beats(found.score * scale, leader.next, error));
        }
        const bool real = t == 0 && p < count;
        if (real) index[p] = scale == 0 ? 0 : found.anchor;
        append(real && !sure, p, lane, listed, list);
      }
  }
}
