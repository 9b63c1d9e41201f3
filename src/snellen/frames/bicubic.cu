// Enlarges a plane, or a part of it, by bicubic interpolation and quantises it: chroma with its siting,
// alpha.
//
// Who holds what: a thread computes the SCALE × SCALE samples of one low-resolution cell, as far as they
// lie in the part; a block computes 32 × 8 cells. Samples are read through the L1 cache; writing the
// result is the limit. Barriers: none.
#include "frames/bicubic.cuh"

// The part begins in cell (top, left); `above` and `before` are the rows and columns of samples of that
// cell which do not belong to it.
extern "C" __global__ void __launch_bounds__(256)
    bicubic(const SAMPLE *__restrict__ plane, int pitch, int width, int height,
            TARGET *__restrict__ out, int out_pitch, int out_width, int out_height, int top,
            int left, int above, int before, float factor, float offset, float white) {
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
