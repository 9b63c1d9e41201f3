// The turn of a window: which of the eight orientations it is turned into (orientation.py), and the
// feature in it.
//
// A turn is a byte, and as many bits: FLIPPED_ACROSS, FLIPPED_DOWN, TRANSPOSED, done in this order;
// three times greater, the bits of signs that are 0, for which both values are meant (a tie).
//
// Who holds what: registers only; four lanes hold a feature. Barriers: none; `turned_norm` is called
// by all lanes of a warp together, because it shuffles.
#pragma once
#include "gpu/device.cuh"

constexpr int FLIPPED_ACROSS = 1, FLIPPED_DOWN = 2, TRANSPOSED = 4, TIES = 8;  // bits, and their factor
// How a coordinate of a feature turns: symmetry.Kind. The pair of a SWAPPED one follows it.
constexpr int SAME = 0, TURN = 1, SQUARE = 2, DIAGONAL = 3, SWAPPED = 4, KIND_BITS = 4;

// Returns a bit of a turn as a sign: −1, 0 in a tie, or 1.
__device__ __forceinline__ float sign(int turn, int bit) {
  return turn & bit * TIES ? 0.f : turn & bit ? -1.f : 1.f;
}

// Turns a feature, of which this lane has columns c and c + 1 of four products, and returns its squared
// norm. In a tie it becomes the mean over all orientations that are meant.
__device__ __forceinline__ float turned_norm(float (&sum)[4][4], int c, uint32_t kinds, int turn) {
  const float across = sign(turn, FLIPPED_ACROSS), down = sign(turn, FLIPPED_DOWN);
  const float order = sign(turn, TRANSPOSED), both = across * down, all = both * order;
  const float share = 0.5f + 0.5f * order;
  float norm = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float &f = sum[k][c], &g = sum[k][c + 1];
    bool swapped = false;
    float factor[2];
#pragma unroll
    for (int i = 0; i < 2; i++, kinds >>= KIND_BITS) {
      const int kind = kinds & ((1 << KIND_BITS) - 1);
      factor[i] = kind == TURN ? all : kind == SQUARE ? order : kind == DIAGONAL ? both : 1;
      if (i == 0) swapped = kind == SWAPPED;
    }
    const float u = across * f, v = down * g;
    f = swapped ? share * u + (1 - share) * v : f * factor[0];
    g = swapped ? share * v + (1 - share) * u : g * factor[1];
    norm += f * f + g * g;
  }
  return row_sum(norm);
}
