// Stands for the header of this name where a kernel is run on a CPU, see emulated.py: the lanes of a
// warp exchange the operands of their products.
#pragma once
#include <cstdint>

constexpr unsigned ALL = 0xffffffffu;

struct Half {
  uint16_t bits;
};

inline float clip(float x, float low, float high) { return fminf(fmaxf(x, low), high); }
inline int clamp(int i, int last) { return min(max(i, 0), last); }

inline float row_sum(float x) {
  x += __shfl_xor_sync(ALL, x, 1);
  return x + __shfl_xor_sync(ALL, x, 2);
}

inline uint32_t halves(float low, float high) {
  const _Float16 both[2] = {_Float16(low), _Float16(high)};
  return as<uint32_t>(both);
}

struct Parts {
  float high, low;
};

inline Parts split(float x) { return {x, 0}; }

struct Operands {
  float a[4][2], b[2][2];  // a register holds one number, or two halves
};

// sum += a · b, m16n8: COUNT numbers in a register.
template <int COUNT>
inline void product(float (&sum)[4], const Operands &mine) {
  static Operands lanes[MOST];
  const int self = threadIdx.x, warp = self & ~31, g = self % 32 / 4, t = self % 4;
  lanes[self] = mine;
  yield_thread();
  for (int i = 0; i < 4; i++) {
    const int row = g, column = 2 * t + i % 2;
    for (int far = 0; far < 2; far++)
      for (int k = 0; k < 4; k++)
        for (int n = 0; n < COUNT; n++)
          sum[i] += lanes[warp + row * 4 + k].a[2 * far + i / 2][n] *
                    lanes[warp + column * 4 + k].b[far][n];
  }
  yield_thread();
}

inline void multiply_half(float (&sum)[4], const uint32_t *a, uint32_t b0, uint32_t b1) {
  Operands mine;
  const uint32_t words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  for (int i = 0; i < 6; i++) {
    _Float16 both[2];
    std::memcpy(both, &words[i], 4);
    float *to = i < 4 ? mine.a[i] : mine.b[i - 4];
    to[0] = both[0], to[1] = both[1];
  }
  product<2>(sum, mine);
}

template <bool A_LOW, bool B_LOW>
inline void multiply(float (&sum)[4], const float (&a)[4], const float (&a_low)[4],
                     const float (&b)[2], const float (&b_low)[2]) {
  Operands mine;
  for (int i = 0; i < 4; i++) mine.a[i][0] = A_LOW ? a[i] + a_low[i] : a[i];
  for (int i = 0; i < 2; i++) mine.b[i][0] = B_LOW ? b[i] + b_low[i] : b[i];
  product<1>(sum, mine);
}
