// Steps 1, 6 and 7 of A+: computes each output pixel as the bicubic sample plus the mean of the patches
// that cover it, and quantises it.
//
// Who holds what: a thread computes the SCALE × SCALE pixels of one low-resolution cell, a block
// ACROSS × DOWN cells. Bicubic samples are computed again, which is cheaper than a plane of them in
// memory. A patch is stored cell by cell, CELL samples each, so that a thread reads its part as 16-byte
// vectors; the L1 cache serves the other cells that read the same lines. Pixels are gathered, without
// atomics, so the result has the same bytes in each run.
//
// Barriers: none; threads do not communicate.
//
// Border as in overlap.py: pixels of the outermost cells, and all pixels of a tiny picture, are means
// over all windows centred in the picture; the others over windows whose centre lies at least
// HALF + 1 from every edge.
#include "frames/bicubic.cuh"

constexpr int HALF = WINDOW / 2;
constexpr int VECTORS = CELL / 4;

extern "C" __global__ void __launch_bounds__(ACROSS *DOWN)
    overlap(const float4 *__restrict__ patches, int first_patch, const SAMPLE *__restrict__ plane,
            int pitch, int width, int height, int first, int last, TARGET *__restrict__ out,
            int out_pitch, float factor, float offset, float white) {
  const int x = blockIdx.x * ACROSS + threadIdx.x, y = first + blockIdx.y * DOWN + threadIdx.y;
  if (x >= width || y >= last) return;
  const bool tiny = min(width, height) < WINDOW + 2;
  const bool ring = tiny || x == 0 || y == 0 || x == width - 1 || y == height - 1;
  const int margin = ring ? 0 : HALF + 1;

  float sum[CELL] = {};
  int windows = 0;
#pragma unroll
  for (int i = 0; i < WINDOW; i++)
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
      const int row = y + i - HALF, column = x + j - HALF;  // centre of the window
      if (row < margin || row >= height - margin || column < margin || column >= width - margin)
        continue;
      windows++;
      const int cell = (WINDOW - 1 - i) * WINDOW + WINDOW - 1 - j;
      const float4 *patch =
          patches + ((size_t)(row - first_patch) * width + column) * (ROW / 4) + cell * VECTORS;
#pragma unroll
      for (int v = 0; v < VECTORS; v++) {
        const float4 part = __ldg(patch + v);
        sum[4 * v] += part.x, sum[4 * v + 1] += part.y;
        sum[4 * v + 2] += part.z, sum[4 * v + 3] += part.w;
      }
    }

  float pixels[SCALE][SCALE];
  enlarge(plane, pitch, width, height, y, x, pixels);
#pragma unroll
  for (int i = 0; i < SCALE; i++) {
    TARGET *row = out + (size_t)((y - first) * SCALE + i) * out_pitch + x * SCALE;
#pragma unroll
    for (int j = 0; j < SCALE; j++)
      row[j] = quantise<TARGET>(pixels[i][j] + sum[i * SCALE + j] / windows, factor, offset, white);
  }
}
