// CUDA's words on a CPU: the threads of a cluster are fibers that switch where they wait, in random
// order. Shared memory begins as NaN, so that what is read too early, or never written, shows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
inline constexpr float2 make_float2(float x, float y) { return {x, y}; }
inline constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int __clz(int a) { return a ? __builtin_clz(a) : 32; }
inline float __int_as_float(int a) {
  float f;
  memcpy(&f, &a, 4);
  return f;
}
inline void sincospif(float a, float *s, float *c) {
  *s = std::sin(M_PI * a), *c = std::cos(M_PI * a);
}

constexpr unsigned ALL = ~0u;
inline struct {
  unsigned x, y;
} threadIdx, blockIdx, gridDim;

namespace fibers {

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  unsigned index, block;  // within the cluster
  bool done;
  long left;  // the barrier of the cluster at which it has arrived
};

// Those who wait for each other.
struct Group {
  unsigned size, arrived;
  long passed;  // barriers

  long arrive() {
    const long mine = passed;
    if (++arrived == size) arrived = 0, passed++;
    return mine;
  }
};

inline std::vector<Thread> threads;
inline Thread *now;
inline ucontext_t scheduler;
inline std::vector<Group> warps, blocks;
inline Group cluster;
inline std::vector<std::vector<float4>> shared;  // of each block
inline std::vector<long> expected;               // bytes, of each block
inline std::vector<float> passed_on;             // of each thread, by a shuffle

inline unsigned self() { return unsigned(now - threads.data()); }
inline void others() { swapcontext(&now->context, &scheduler); }
inline void meet(Group &group) {
  const long mine = group.arrive();
  while (group.passed == mine) others();
}
inline void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

}  // namespace fibers

inline void __syncwarp() { fibers::meet(fibers::warps[fibers::self() / 32]); }
inline void __syncthreads() { fibers::meet(fibers::blocks[fibers::now->block]); }
inline float __shfl_sync(unsigned, float a, int from) {
  using namespace fibers;
  passed_on[self()] = a;
  __syncwarp();
  const float found = passed_on[self() / 32 * 32 + (from & 31)];
  __syncwarp();
  return found;
}
inline float __shfl_sync(unsigned mask, float a, int from, int width) {
  return __shfl_sync(mask, a, int(threadIdx.x & 31 & ~(width - 1)) | (from & (width - 1)));
}
