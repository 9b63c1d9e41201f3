// The first pass of match.cu for a test: all scores in half precision, and what the kernel takes as
// the upper bound of each exact score. A block is one warp, which holds ROWS features.
#include "aplus/cuda/half_scores.cuh"

extern "C" __global__ void __launch_bounds__(32)
    half_scores(const float4 *features, int count, const uint4 *half_anchors, float anchor_error,
                float *found, float *bounds, float *scales) {
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4, first = blockIdx.x * ROWS + g;
  uint32_t fragment[TILES][SLABS][8];
  Row rows[2 * TILES];
#pragma unroll
  for (int i = 0; i < 2 * TILES; i++) {
    const int p = min(first + i * 8, count - 1);
    rows[i] = halve(features + (size_t)p * QUADS, t, i % 2, fragment[i / 2], anchor_error);
    scales[p] = rows[i].scale * ANCHOR_SCALE;
  }
  for (int step = 0; step < ANCHORS / STEP; step++) {
    uint32_t score[TILES][JOINED][2];
    scores(fragment, half_anchors + step * JOINED * VECTORS + lane, score);
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++)
#pragma unroll
      for (int j = 0; j < JOINED; j++) {
        if (first + i * 8 >= count) continue;
        const float2 pair = floats(abs2(score[i / 2][j][i % 2]));  // columns 2t and 2t + 1
        const int anchor = step * STEP + 2 * t * JOINED + j;
        const size_t at = (size_t)(first + i * 8) * ANCHORS + anchor;
        const float error = rows[i].error * ANCHOR_SCALE;
        found[at] = pair.x, found[at + JOINED] = pair.y;
        bounds[at] = exact_at_most(pair.x, error),
        bounds[at + JOINED] = exact_at_most(pair.y, error);
      }
  }
}
