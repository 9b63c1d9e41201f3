// Steps 1, 6 and 7 of A+: computes each output pixel as the bicubic sample plus the mean of the patches
// that cover it, and quantises it.
//
// Who holds what: a thread computes the SCALE × SCALE pixels of one low-resolution cell, a block
// ACROSS × DOWN cells. Bicubic samples are computed again, which is cheaper than a plane of them in
// memory. A patch is stored cell by cell, CELL samples each, so that a thread reads its part as 16-byte
// vectors; the L1 cache serves the other cells that read the same lines. Pixels are gathered, without
// atomics, so the result has the same bytes in each run.
//
// A patch of a model of format 2 (ORIENTED) is in its canonical orientation. A thread finds the cell
// there that belongs to it, and turns its samples back in registers; in a tie it takes the mean over
// the orientations that are meant.
//
// Barriers: none; threads do not communicate.
//
// Border as in overlap.py: pixels of the outermost cells, and all pixels of a tiny picture, are means
// over all windows centred in the picture; the others over windows whose centre lies at least
// HALF + 1 from every edge.
#include "aplus/cuda/orientation.cuh"
#include "frames/bicubic.cuh"

constexpr int HALF = WINDOW / 2;
constexpr int VECTORS = CELL / 4;

__device__ __forceinline__ void exchange(bool wanted, float &a, float &b) {
  const float first = wanted ? b : a, second = wanted ? a : b;
  a = first, b = second;
}

// Adds `share` of the samples of a patch's cell in row i and column j, turned back, to a sum.
__device__ __forceinline__ void add_turned(const float4 *patch, int i, int j, int turn, float share,
                                           float (&sum)[CELL]) {
  const bool across = turn & FLIPPED_ACROSS, down = turn & FLIPPED_DOWN;
  const bool transposed = turn & TRANSPOSED;
  const int row = down ? WINDOW - 1 - i : i, column = across ? WINDOW - 1 - j : j;
  patch += ((transposed ? column : row) * WINDOW + (transposed ? row : column)) * VECTORS;
  float part[CELL];
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    const float4 four = __ldg(patch + v);
    part[4 * v] = four.x, part[4 * v + 1] = four.y;
    part[4 * v + 2] = four.z, part[4 * v + 3] = four.w;
  }
#pragma unroll
  for (int y = 0; y < SCALE; y++)
#pragma unroll
    for (int x = 0; x < y; x++) exchange(transposed, part[y * SCALE + x], part[x * SCALE + y]);
#pragma unroll
  for (int y = 0; y < SCALE / 2; y++)
#pragma unroll
    for (int x = 0; x < SCALE; x++)
      exchange(down, part[y * SCALE + x], part[(SCALE - 1 - y) * SCALE + x]);
#pragma unroll
  for (int y = 0; y < SCALE; y++)
#pragma unroll
    for (int x = 0; x < SCALE / 2; x++)
      exchange(across, part[y * SCALE + x], part[y * SCALE + SCALE - 1 - x]);
#pragma unroll
  for (int k = 0; k < SCALE * SCALE; k++) sum[k] += share * part[k];
}

// Adds the mean over all orientations that a turn with ties means.
__device__ __forceinline__ void add_tied(const float4 *patch, int i, int j, int turn,
                                         float (&sum)[CELL]) {
  const int ties = turn / TIES;
  const float share = 1.f / (1 << __popc(ties));
  float mean[CELL] = {};
#pragma unroll 1
  for (int one = 0; one < TIES; one++)
    if (((one ^ turn) & ~ties & (TIES - 1)) == 0) add_turned(patch, i, j, one, share, mean);
#pragma unroll
  for (int k = 0; k < SCALE * SCALE; k++) sum[k] += mean[k];
}

extern "C" __global__ void __launch_bounds__(ACROSS *DOWN)
    overlap(const float4 *__restrict__ patches, int first_patch, const SAMPLE *__restrict__ plane,
            int pitch, int width, int height, int first, int last, TARGET *__restrict__ out,
            int out_pitch, float factor, float offset, float white,
            const uint8_t *__restrict__ turns) {
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
      if (ORIENTED) {
        const size_t window = (size_t)(row - first_patch) * width + column;
        const float4 *whole = patches + window * (ROW / 4);
        const int turn = turns[window];
        if (turn < TIES)
          add_turned(whole, WINDOW - 1 - i, WINDOW - 1 - j, turn, 1, sum);
        else
          add_tied(whole, WINDOW - 1 - i, WINDOW - 1 - j, turn, sum);
        continue;
      }
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
