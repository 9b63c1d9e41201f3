// Stands for the header of this name where a kernel is run on a CPU: products of a warpgroup, which are
// computed as late as they may be. Operands are read as PTX describes those without swizzle.
#pragma once
#include "gpu/device.cuh"

using Sums = float[4][4];

namespace fibers {
struct Product {
  Sums *sum;
  uint32_t a, b;
};
inline std::vector<std::vector<Product>> begun;  // of each thread
inline std::vector<bool> may;                    // whether its sums are set

// The number in a row (of the left operand) or column (of the right one).
inline float element(uint32_t operand, int outer, int inner) {
  const int begin = (operand & 0x3fff) * 16, far = (operand >> 16) * 16;
  uint16_t bits;
  memcpy(&bits, reinterpret_cast<const char *>(shared[now->block].data()) + begin + inner / 8 * far +
                    outer / 8 * 128 + outer % 8 * 16 + inner % 8 * 2, 2);
  return half_value(bits);
}
}  // namespace fibers

inline uint32_t operand(const void *shared, int inner) {
  const uint32_t address = shared_address(shared);
  if (address % 16 || inner % 16) fibers::fail("an operand is not aligned to 16 bytes");
  if (inner / 16 >= 1 << 14) fibers::fail("a field of an operand is too small for its number");
  return uint32_t(inner / 16) << 16 | address / 16;
}

inline void publish() {}
inline void begin_products() { fibers::may[fibers::self()] = true; }

inline void multiply_by_warpgroup(Sums &d, uint32_t a, uint32_t b) {
  using namespace fibers;
  if (!may[self()]) fail("a product without begin_products");
  if ((a | b) >> 14 & 3 || (a | b) >> 30) fail("an operand is moved beyond its field");
  begun[self()].push_back({&d, a, b});
}

inline void multiply_by_warpgroup(float (&sum)[2][4][4], uint32_t a, uint32_t b) {
  multiply_by_warpgroup(sum[0], a, b);
  multiply_by_warpgroup(sum[1], a, b + 32 * 16 / 16);
}

inline void copy(Sums &to, const Sums &from) { memcpy(to, from, sizeof to); }

template <typename T>
inline void end_products(T &) {
  using namespace fibers;
  const int lane = self() % 32, warp = self() / 32 % 4;
  others();
  for (const Product &one : begun[self()])
    for (int i = 0; i < 16; i++) {
      const int row = 16 * warp + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < 16; k++) sum += element(one.a, row, k) * element(one.b, column, k);
      (*one.sum)[i / 4][i % 4] += sum;
    }
  begun[self()].clear(), may[self()] = false;
}
