// The first pass of step 5a of A+: features and anchors in half precision, their scores on tensor
// cores, and the bound on the error of a score. match.cu and a test that compares with float64
// include it.
//
// Who holds what: a warp holds ROWS = 16 · TILES features as left operands of mma.sync in
// registers. Lane t of the four lanes of a row holds dimensions 4t … 4t+3 and 16+4t … 16+4t+3 of
// each slab of 32, so that features, anchors and fragments are read as 16-byte vectors without bank
// conflicts. Anchors are right operands, in the order of match.py's `fragments`.
//
// Barriers: none; all functions use shuffles, so all lanes of the warp call them together.
//
// Macros from the host, all rounded up (match.py):
//   HALF          relative error of a number in half precision
//   UNIT          error of a half-precision sum of 16 products, relative to the sum: a unit in the
//                 last place, whether the hardware rounds or truncates
//   ROUNDING      error of float32, and of what tensor cores truncate below that unit, over all
//                 dimensions
//   SMALLEST      magnitude below which tensor cores may take a half for zero
//   ANCHOR_SCALE  factor of the half-precision anchors, so that few are that small
// PTX promises only "at least half precision" for these sums; tests check UNIT, ROUNDING and the
// bound on the hardware (tests/aplus/cuda/test_match.py). docs/aplus.md derives the bound.
#pragma once
#include "gpu/device.cuh"

constexpr int SLABS = DIMS / 32;
constexpr int VECTORS = SLABS * 32;  // 16-byte vectors of a tile of eight anchors
constexpr int STEP = JOINED * 8;     // anchors of one call of `scores`
constexpr int ROWS = TILES * 16;     // features of a warp
constexpr int QUADS = DIMS / 4;      // 16-byte vectors of a feature

static_assert(ANCHORS % STEP == 0 && DIMS % 32 == 0);

// The scale of a feature that is stored in half precision, and the error of its scores.
struct Row {
  float scale;  // a power of two; 0 for a feature that is zero
  float error;  // of any score with the scaled feature, besides UNIT of the score itself
};

// Converts row `half` (0 upper, 1 lower) of a fragment to half precision. anchor_error is the
// largest norm of the rounding error of an anchor.
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
  // The greatest becomes 2⁶ … 2⁷: scores of 128 dimensions with anchors of norm 16 then stay below
  // 65504, the largest half.
  const int exponent = __float_as_int(greatest) >> 23;
  const float scale = __int_as_float(min(260 - exponent, 254) << 23);
  float norm = 0, sums = 0;
#pragma unroll
  for (int i = 2 * SLABS - 1; i >= 0; i--) {
    const float x = part[i].x * scale, y = part[i].y * scale;
    const float z = part[i].z * scale, w = part[i].w * scale;
    norm += row_sum(x * x + y * y + z * z + w * w);
    if (i)
      sums += sqrtf(norm);  // bounds the partial sums: each is at most the norm of its dimensions
    fragment[i / 2][i % 2 * 4 + half] = halves(x, y);
    fragment[i / 2][i % 2 * 4 + 2 + half] = halves(z, w);
  }
  const float error =
      sqrtf(norm) * (HALF + anchor_error + ROUNDING) + UNIT * sums + SMALLEST * DIMS;
  const bool tiny = exponent < 10;  // the scale is not a normal float: float32 decides
  return {greatest == 0 ? 0.f : scale, tiny ? __int_as_float(0x7f800000) : error};
}

// Computes the scores of the warp's features with STEP anchors. Columns 2t and 2t + 1 of tile j are
// the two halves of score[…][j][0] (upper row) and score[…][j][1] (lower row) in lane t. The last
// sixteen dimensions, which carry the least energy, come first, because their sum is rounded once
// more.
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

// Returns an upper bound of the exact score, for a half-precision score and the error of its row.
__device__ __forceinline__ float exact_at_most(float score, float error) {
  return score + score * UNIT + error;
}
