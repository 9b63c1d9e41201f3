// Stands for the header of this name where a kernel is run on a CPU: products of a warp, whose lanes
// wait for each other.
#pragma once
#include "fibers.h"

struct uint2 {
  uint32_t x, y;
};
struct uint4 {
  uint32_t x, y, z, w;
};
using std::max;
using std::min;

template <typename T>
inline T __ldg(const T *from) { return *from; }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return uint64_t(a) * b >> 32; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float clip(float x, float low, float high) { return fminf(fmaxf(x, low), high); }
inline int clamp(int i, int last) { return min(max(i, 0), last); }

inline uint16_t half_bits(float value) {
  const _Float16 half = _Float16(fminf(fmaxf(value, -65504.f), 65504.f));
  uint16_t bits;
  memcpy(&bits, &half, 2);
  return bits;
}
inline float half_value(uint32_t bits) {
  static const std::vector<float> values = [] {
    std::vector<float> found(1 << 16);
    for (unsigned i = 0; i < found.size(); i++) {
      const uint16_t word = uint16_t(i);
      _Float16 half;
      memcpy(&half, &word, 2);
      found[i] = float(half);
    }
    return found;
  }();
  return values[bits & 0xffff];
}
inline uint32_t finite_halves(float low, float high) {
  return half_bits(low) | uint32_t(half_bits(high)) << 16;
}
inline float2 floats(uint32_t word) { return {half_value(word), half_value(word >> 16)}; }

// What the lanes of a warp give each other. Two of these take turns: no lane is more than one exchange
// ahead of another.
namespace fibers {
struct Given {
  uint32_t words[32][6];
};
inline std::vector<Given> given;  // two for each warp
inline std::vector<int> turns;    // of each thread

inline Given &exchange(const uint32_t *words, int count) {
  const unsigned me = self();
  Given &mine = given[2 * (me / 32) + (turns[me]++ & 1)];
  memcpy(mine.words[me % 32], words, 4 * count);
  __syncwarp();
  return mine;
}
}  // namespace fibers

inline uint32_t shared_address(const void *pointer) {
  using namespace fibers;
  return uint32_t(static_cast<const char *>(pointer) -
                  reinterpret_cast<const char *>(shared[now->block].data()));
}

// Copies are made as late as they may be.
namespace fibers {
inline std::vector<std::vector<std::pair<void *, const void *>>> copies;  // of each thread
}
inline void copy_ahead(void *to, const void *from) {
  fibers::copies[fibers::self()].push_back({to, from});
}
inline void copied() {
  auto &mine = fibers::copies[fibers::self()];
  for (const auto &[to, from] : mine) memcpy(to, from, 16);
  mine.clear();
}

inline void load_fragment(uint32_t (&a)[4], uint32_t address) {
  using namespace fibers;
  if (address % 16) fail("an address of a fragment is not a multiple of 16 bytes");
  const Given &all = exchange(&address, 1);
  const unsigned lane = self() % 32;
  const char *memory = reinterpret_cast<const char *>(shared[now->block].data());
  for (int i = 0; i < 4; i++) memcpy(&a[i], memory + all.words[8 * i + lane / 4][0] + lane % 4 * 4, 4);
}

inline void multiply_half(float (&d)[4], const uint32_t *a, uint32_t b0, uint32_t b1) {
  using namespace fibers;
  const uint32_t words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  const Given &all = exchange(words, 6);
  const unsigned lane = self() % 32;
  for (int i = 0; i < 4; i++) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    float sum = 0;
    for (int k = 0; k < 16; k++) {
      const uint32_t left = all.words[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
      const uint32_t right = all.words[column * 4 + k % 8 / 2][4 + k / 8];
      sum += half_value(left >> k % 2 * 16) * half_value(right >> k % 2 * 16);
    }
    d[i] += sum;
  }
}
