// What kernels use of CUDA, for g++: see emulated.py. A thread is a coroutine. At a barrier it
// yields to the scheduler, which runs the threads in turn up to their next barrier.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

using std::isfinite;
using std::max;
using std::min;

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __restrict__
#define __shared__ static

struct Index {
  int x, y, z;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
struct double2 {
  double x, y;
};
static Index blockIdx, blockDim, threadIdx, gridDim;

constexpr int MOST = 1024, STACK = 1 << 15;
static ucontext_t scheduler, threads[MOST];
static bool running[MOST];
static char dynamic_shared[1 << 18];
static void (*current)(void **);
static void **arguments;

static void yield_thread() {
  const int self = threadIdx.x;
  swapcontext(&threads[self], &scheduler);
}

static void __syncthreads() { yield_thread(); }

static bool __syncthreads_or(bool value) {
  static bool any;
  if (threadIdx.x == 0) any = false;
  yield_thread();
  any |= value;
  yield_thread();
  const bool result = any;
  yield_thread();
  return result;
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  static T lanes[MOST];
  lanes[threadIdx.x] = value;
  yield_thread();
  const T other = lanes[threadIdx.x ^ mask];
  yield_thread();
  return other;
}

static double __dadd_rn(double a, double b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }
static float __fadd_rn(float a, float b) { return a + b; }
static float __fmul_rn(float a, float b) { return a * b; }

// The bits of a value as another type.
template <typename To, typename From>
To as(const From &value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static unsigned long long __double_as_longlong(double value) {
  return as<unsigned long long>(value);
}
static float __int_as_float(int bits) { return as<float>(bits); }
static float __uint_as_float(unsigned bits) { return as<float>(bits); }
static unsigned __float_as_uint(float value) { return as<unsigned>(value); }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }

template <typename T>
T __ldg(const T *from) {
  return *from;
}

template <typename T>
T __ldcs(const T *from) {
  return *from;
}

template <typename T>
T atomicAdd(T *to, T value) {
  const T before = *to;
  *to += value;
  return before;
}

static int atomicMin(int *to, int value) {
  const int before = *to;
  *to = min(before, value);
  return before;
}

static unsigned atomicOr(unsigned *to, unsigned bits) {
  const unsigned before = *to;
  *to |= bits;
  return before;
}

static void run_thread() {
  current(arguments);
  running[threadIdx.x] = false;
  yield_thread();
}

static void launch(void (*kernel)(void **), void **a, const Index &grid, const Index &block,
                   bool waits) {
  static std::vector<char> stacks(size_t(MOST) * STACK);
  current = kernel, arguments = a, gridDim = grid, blockDim = block;
  for (int number = 0; number < grid.x * grid.y * grid.z; number++) {
    blockIdx = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
    for (int i = 0; !waits && i < block.x * block.y; i++)
      threadIdx = {i % block.x, i / block.x, 0}, kernel(a);
    if (!waits) continue;
    for (int i = 0; i < block.x; i++) {
      getcontext(&threads[i]);
      threads[i].uc_stack.ss_sp = &stacks[size_t(i) * STACK];
      threads[i].uc_stack.ss_size = STACK;
      makecontext(&threads[i], run_thread, 0);
      running[i] = true;
    }
    for (bool any = true; any;) {
      any = false;
      for (int i = 0; i < block.x; i++) {
        if (!running[i]) continue;
        threadIdx = {i, 0, 0};
        swapcontext(&scheduler, &threads[i]);
        any |= running[i];
      }
    }
  }
}
