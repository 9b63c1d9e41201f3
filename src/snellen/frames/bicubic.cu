// A plane enlarged by bicubic and quantised, or a part of it: chroma with its siting, alpha.
//
// One thread makes the SCALE × SCALE samples of one low-resolution cell, those of them that lie in the
// part; a block 32 × 8 cells. The samples come through the first-level cache; what takes the time is
// writing the result.
#include "frames/bicubic.cuh"

// The part begins in cell (top, left); above and before: samples of that cell that are not in it.
extern "C" __global__ void __launch_bounds__(256)
    bicubic(const SAMPLE *__restrict__ plane, int pitch, int width, int height,
            TARGET *__restrict__ out, int out_pitch, int out_width, int out_height, int top, int left,
            int above, int before, float factor, float offset, float white) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int first_row = y * SCALE - above, first_column = x * SCALE - before;
  if (first_column >= out_width || first_row >= out_height) return;
  float pixels[SCALE][SCALE];
  enlarge<true>(plane, pitch, width, height, top + y, left + x, pixels);
#pragma unroll
  for (int i = 0; i < SCALE; i++)
#pragma unroll
    for (int j = 0; j < SCALE; j++) {
      const int row = first_row + i, column = first_column + j;
      if (row >= 0 && row < out_height && column >= 0 && column < out_width)
        out[(size_t)row * out_pitch + column] =
            quantise<TARGET, true>(pixels[i][j], factor, offset, white);
    }
}
