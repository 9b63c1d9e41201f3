// Provides Keys' cubic convolution of one low-resolution cell to SCALE × SCALE samples (`enlarge`) and
// the quantisation of a sample. As in bicubic.py, it filters along y, then along x, in float32, and
// replicates edges by clamping the index.
//
// Each thread works alone, in registers. Barriers: none.
//
// Macros from the host: SCALE; DOWN_FIRST, DOWN_WEIGHTS (along y) and ACROSS_FIRST, ACROSS_WEIGHTS (along
// x): the first tap of each output phase, relative to the cell, and its four weights.
#pragma once
#include "gpu/device.cuh"

constexpr int TAPS = 4, NEAR = 2, SPAN = 5;  // all taps lie at −2 … +2 of the cell
__device__ constexpr int across_first[SCALE] = ACROSS_FIRST, down_first[SCALE] = DOWN_FIRST;
__device__ constexpr float across[SCALE][TAPS] = ACROSS_WEIGHTS, down[SCALE][TAPS] = DOWN_WEIGHTS;

// Returns a · b + sum: with EXACT both operations are rounded, as the CPU backend does it, for the same
// bytes; otherwise it is one fused operation.
template <bool EXACT>
__device__ __forceinline__ float add(float sum, float a, float b) {
  return EXACT ? __fadd_rn(__fmul_rn(a, b), sum) : a * b + sum;
}

template <bool EXACT = false, typename Sample>
__device__ __forceinline__ void enlarge(const Sample *plane, int pitch, int width, int height,
                                        int y, int x, float (&out)[SCALE][SCALE]) {
  float columns[SCALE][SPAN] = {};
#pragma unroll
  for (int j = 0; j < SPAN; j++) {
    const Sample *column = plane + clamp(x + j - NEAR, width - 1);
    float sample[SPAN];
#pragma unroll
    for (int i = 0; i < SPAN; i++)
      sample[i] = float(__ldg(column + (size_t)clamp(y + i - NEAR, height - 1) * pitch));
#pragma unroll
    for (int k = 0; k < SCALE; k++)
#pragma unroll
      for (int i = 0; i < TAPS; i++)
        columns[k][j] = add<EXACT>(columns[k][j], down[k][i], sample[down_first[k] + NEAR + i]);
  }
#pragma unroll
  for (int k = 0; k < SCALE; k++)
#pragma unroll
    for (int l = 0; l < SCALE; l++) {
      out[k][l] = 0;
#pragma unroll
      for (int i = 0; i < TAPS; i++)
        out[k][l] = add<EXACT>(out[k][l], across[l][i], columns[k][across_first[l] + NEAR + i]);
    }
}

// Returns a sample of the target: factor · x + offset, rounded half to even and clipped to 0 … white; a
// float32 sample is returned as it is.
template <typename Target, bool EXACT = false>
__device__ __forceinline__ Target quantise(float x, float factor, float offset, float white) {
  if (sizeof(Target) == 4) return x;
  return Target(rintf(clip(add<EXACT>(offset, x, factor), 0, white)));
}
