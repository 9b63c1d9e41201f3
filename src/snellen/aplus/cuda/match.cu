// Step 5a of A+: the anchor of each feature, arg-max over all anchors of |anchor · feature|.
//
// `match` scores in half precision with float32 sums on the tensor cores, keeps in registers the best
// score and the runner-up among groups of eight anchors, scores the eight of the best group again in
// float32, and lists the few features for which another group might still win. `settle` scores those
// against all anchors in float32. So the anchor is that of float32 arithmetic for every feature; the
// bound that proves it stands in docs/aplus.md.
//
// A warp holds the fragments of 16 · TILES features and runs over all anchors, CHUNK of them in shared
// memory at a time; the match matrix never leaves registers. `lane t` of four holds dimensions
// 4t … 4t+3 and 16+4t … 16+4t+3 of each 32, so features, anchors and fragments are read as 16-byte
// vectors without bank conflicts.
#include "device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int STEP = 32;  // anchors between two updates of the best: four tiles of eight
constexpr int STEPS = ANCHORS / STEP, CHUNK_STEPS = CHUNK / STEP;
constexpr int WARPS = 16;
constexpr int BATCH = WARPS * TILES * 16;  // features of a block
constexpr int MEMBERS = 8;                 // anchors of a group: those of one lane in a step

// The step is kept in the low bits of a score.
__device__ constexpr int bits(int n) { return n > 1 ? 1 + bits((n + 1) / 2) : 0; }
constexpr uint32_t STEP_MASK = (1u << bits(STEPS)) - 1;

// Relative error of what is computed beside the rounding to half precision: DIMS sums of the tensor
// cores ("at least single precision", PTX ISA: an ulp each), as many in float32, and their norms.
constexpr float ROUNDING = DIMS * 4.8e-7f;  // 2⁻²¹ each
// By how much a score may be less than the one whose low bits hold the step.
constexpr float PACKING = 2 * STEP_MASK * 1.2e-7f;  // 2⁻²³ of the score for each unit, twice
constexpr float ANCHOR_SCALE = 16384;  // of the half-precision anchors: none is subnormal

static_assert(ANCHORS % STEP == 0 && CHUNK % STEP == 0 && DIMS % 32 == 0);

// Sum of four lanes for each of eight values: lane t is left with members 2·order(t) and the next.
__device__ __forceinline__ void gather(float (&v)[MEMBERS], int t) {
#pragma unroll
  for (int m = 0; m < 4; m++) {
    const float mine = t & 1 ? v[m + 4] : v[m], other = t & 1 ? v[m] : v[m + 4];
    v[m] = mine + __shfl_xor_sync(ALL, other, 1);
  }
#pragma unroll
  for (int m = 0; m < 2; m++) {
    const float mine = t & 2 ? v[m + 2] : v[m], other = t & 2 ? v[m] : v[m + 2];
    v[m] = mine + __shfl_xor_sync(ALL, other, 2);
  }
}

struct Best {
  float score;
  int anchor;
};

// Of equal scores the lower anchor.
__device__ __forceinline__ Best better(Best a, Best b) {
  return b.score > a.score || (b.score == a.score && b.anchor < a.anchor) ? b : a;
}

__device__ __forceinline__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// The best of a group in float32, for the feature of four lanes.
__device__ Best member(const float4 *feature, const float4 *anchors, int group, int t) {
  float v[MEMBERS] = {};
  const float4 *row = anchors + (size_t)group * MEMBERS * (DIMS / 4) + t;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++) {
    const float4 near = feature[slab * 8 + t], far = feature[slab * 8 + 4 + t];
#pragma unroll
    for (int m = 0; m < MEMBERS; m++)
      v[m] += dot(near, __ldg(row + m * (DIMS / 4) + slab * 8)) +
              dot(far, __ldg(row + m * (DIMS / 4) + slab * 8 + 4));
  }
  gather(v, t);
  const int first = group * MEMBERS + 4 * (t & 1) + (t & 2);
  Best best = better({fabsf(v[0]), first}, {fabsf(v[1]), first + 1});
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

__device__ Row halve(const float4 *feature, int t, int half, uint32_t (&fragment)[SLABS][8],
                     float anchor_error) {
  float4 part[SLABS][2];
  float greatest = 0;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float4 p = part[slab][i] = __ldg(feature + slab * 8 + i * 4 + t);
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

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
    match(const float4 *__restrict__ features, int count, const uint4 *__restrict__ half_anchors,
          const float4 *__restrict__ anchors, float anchor_error, uint16_t *__restrict__ index,
          int *__restrict__ listed, int *__restrict__ list) {
  extern __shared__ uint4 chunk[];  // [CHUNK / 8][SLABS][32 lanes]
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;

  for (int block = blockIdx.x; block * BATCH < count; block += gridDim.x) {
    const int first = block * BATCH + warp * TILES * 16 + g;
    uint32_t fragment[TILES][SLABS][8];
    float best[TILES][2] = {}, second[TILES][2] = {};
#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int p = min(first + m * 16 + half * 8, count - 1);
        halve(features + (size_t)p * (DIMS / 4), t, half, fragment[m], anchor_error);
      }

    for (int start = 0; start < STEPS; start += CHUNK_STEPS) {
      if (CHUNK < ANCHORS || block == blockIdx.x) {
        const int size = min(CHUNK_STEPS, STEPS - start) * STEP / 8 * SLABS * 32;
        if (CHUNK < ANCHORS) __syncthreads();
        for (int i = threadIdx.x; i < size; i += WARPS * 32)
          chunk[i] = half_anchors[start * STEP / 8 * SLABS * 32 + i];
        __syncthreads();
      }
      const uint4 *anchor = chunk + lane;
#pragma unroll 1
      for (int step = start; step < min(start + CHUNK_STEPS, STEPS); step++) {
        float top[TILES][2];
#pragma unroll
        for (int j = 0; j < STEP / 8; j++) {
          float score[TILES][4] = {};
#pragma unroll
          for (int slab = 0; slab < SLABS; slab++) {
            const uint4 b = *anchor;
            anchor += 32;
#pragma unroll
            for (int m = 0; m < TILES; m++) {
              multiply_half(score[m], fragment[m][slab], b.x, b.y);
              multiply_half(score[m], fragment[m][slab] + 4, b.z, b.w);
            }
          }
#pragma unroll
          for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
              const float s = fmaxf(fabsf(score[m][half * 2]), fabsf(score[m][half * 2 + 1]));
              top[m][half] = j ? fmaxf(top[m][half], s) : s;
            }
        }
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
          for (int half = 0; half < 2; half++) {
            const float s = __uint_as_float((__float_as_uint(top[m][half]) & ~STEP_MASK) | step);
            second[m][half] = fmaxf(second[m][half], fminf(best[m][half], s));
            best[m][half] = fmaxf(best[m][half], s);
          }
      }
    }

#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int p = first + m * 16 + half * 8;
        float top = best[m][half], next = second[m][half];
#pragma unroll
        for (int lanes = 1; lanes < 4; lanes *= 2) {
          const float other = __shfl_xor_sync(ALL, top, lanes);
          next = fmaxf(fmaxf(next, __shfl_xor_sync(ALL, next, lanes)), fminf(top, other));
          top = fmaxf(top, other);
        }
        const uint32_t winners = __ballot_sync(ALL, best[m][half] == top) >> (lane & 28) & 15;
        const int group = (__float_as_uint(top) & STEP_MASK) * 4 + max(__ffs(winners) - 1, 0);
        const float4 *feature = features + (size_t)min(p, count - 1) * (DIMS / 4);
        const Best found = member(feature, anchors, group, t);
        const Row r = halve(feature, t, half, fragment[m], anchor_error);  // again: it costs less
        const float score = found.score * r.scale * ANCHOR_SCALE;
        const bool sure = score > next + next * PACKING + r.error * ANCHOR_SCALE || r.scale == 0;
        if (t == 0 && p < count) index[p] = r.scale == 0 ? 0 : found.anchor;
        const bool unsure = t == 0 && p < count && !sure;
        const uint32_t who = __ballot_sync(ALL, unsure);
        int place = 0;
        if (who && lane == 0) place = atomicAdd(listed, __popc(who));
        place = __shfl_sync(ALL, place, 0);
        if (unsure) list[place + __popc(who & ((1u << lane) - 1))] = p;
      }
  }
}

// Settle: the listed features (all `count` of them if `list` is null) against all anchors in float32.
// A block takes 8 features; a warp takes 128 anchors at a time, four a lane, so that anchors are
// read as 16-byte vectors of a table that lies dimension by dimension, and features are broadcast.
constexpr int SETTLE_WARPS = 8, SETTLED = 8;

extern "C" __global__ void __launch_bounds__(SETTLE_WARPS * 32, 2)
    settle(const float *__restrict__ features, int count, const float4 *__restrict__ anchors,
           int width, const int *__restrict__ listed, const int *__restrict__ list,
           uint16_t *__restrict__ index) {
  extern __shared__ float feature[];  // [DIMS][SETTLED]
  __shared__ Best bests[SETTLE_WARPS][SETTLED];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int total = listed ? *listed : count;

  for (int first = blockIdx.x * SETTLED; first < total; first += gridDim.x * SETTLED) {
    for (int i = threadIdx.x; i < SETTLED * DIMS; i += SETTLE_WARPS * 32) {
      const int entry = min(first + i / DIMS, total - 1);
      const int p = list ? list[entry] : entry;
      feature[i % DIMS * SETTLED + i / DIMS] = features[(size_t)p * DIMS + i % DIMS];
    }
    __syncthreads();
    Best best[SETTLED];
#pragma unroll
    for (int q = 0; q < SETTLED; q++) best[q] = {0.f, 0};
    for (int a = warp * 32 + lane; a < width; a += SETTLE_WARPS * 32) {
      float4 score[SETTLED] = {};
#pragma unroll 4
      for (int k = 0; k < DIMS; k++) {
        const float4 w = __ldg(anchors + (size_t)k * width + a);
#pragma unroll
        for (int q = 0; q < SETTLED; q++) {
          const float f = feature[k * SETTLED + q];
          score[q].x += f * w.x, score[q].y += f * w.y, score[q].z += f * w.z, score[q].w += f * w.w;
        }
      }
#pragma unroll
      for (int q = 0; q < SETTLED; q++) {
        best[q] = better(best[q], {fabsf(score[q].x), a * 4});
        best[q] = better(best[q], {fabsf(score[q].y), a * 4 + 1});
        best[q] = better(best[q], {fabsf(score[q].z), a * 4 + 2});
        best[q] = better(best[q], {fabsf(score[q].w), a * 4 + 3});
      }
    }
#pragma unroll
    for (int q = 0; q < SETTLED; q++) {
#pragma unroll
      for (int lanes = 16; lanes; lanes /= 2)
        best[q] = better(best[q], {__shfl_xor_sync(ALL, best[q].score, lanes),
                                   __shfl_xor_sync(ALL, best[q].anchor, lanes)});
      if (lane == 0) bests[warp][q] = best[q];
    }
    __syncthreads();
    if (threadIdx.x < SETTLED && first + threadIdx.x < total) {
      Best found = bests[0][threadIdx.x];
      for (int w = 1; w < SETTLE_WARPS; w++) found = better(found, bests[w][threadIdx.x]);
      const int entry = first + threadIdx.x;
      index[list ? list[entry] : entry] = found.anchor;
    }
    __syncthreads();
  }
}
