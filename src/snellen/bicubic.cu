// A plane enlarged by bicubic and quantised: chroma with its siting, alpha.
//
// One thread makes the SCALE × SCALE samples of one low-resolution cell; a block 32 × 8 cells. The
// samples come through the first-level cache; what takes the time is writing the result.
#include "bicubic.cuh"

extern "C" __global__ void __launch_bounds__(256)
    bicubic(const SAMPLE *__restrict__ plane, int pitch, int width, int height,
            TARGET *__restrict__ out, int out_pitch, int out_width, int out_height, float factor,
            float offset, float white) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  float pixels[SCALE][SCALE];
  enlarge(plane, pitch, width, height, y, x, pixels);
#pragma unroll
  for (int i = 0; i < SCALE; i++)
#pragma unroll
    for (int j = 0; j < SCALE; j++) {
      const int row = y * SCALE + i, column = x * SCALE + j;
      if (row < out_height && column < out_width)
        out[(size_t)row * out_pitch + column] =
            quantise<TARGET>(pixels[i][j], factor, offset, white);
    }
}
