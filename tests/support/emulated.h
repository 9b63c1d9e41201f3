// What kernels use of CUDA, for g++: see emulated.py. A thread is a coroutine. At a barrier it
// yields to the scheduler, which runs the threads in turn up to their next barrier.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

using std::max;
using std::min;

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(threads)
#define __restrict__
#define __shared__ static

struct Index {
  int x, y;
};
struct double2 {
  double x, y;
};
static Index blockIdx, threadIdx, gridDim;

constexpr int MOST = 1024, STACK = 1 << 15;
static ucontext_t scheduler, threads[MOST];
static bool running[MOST];
static double lanes[MOST];
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

static double __shfl_xor_sync(unsigned, double value, int mask) {
  lanes[threadIdx.x] = value;
  yield_thread();
  const double other = lanes[threadIdx.x ^ mask];
  yield_thread();
  return other;
}

static double __dadd_rn(double a, double b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }

static unsigned long long __double_as_longlong(double value) {
  unsigned long long bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
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

static void run_thread() {
  current(arguments);
  running[threadIdx.x] = false;
  yield_thread();
}

static void launch(void (*kernel)(void **), void **a, int x, int y, int block, bool waits) {
  static std::vector<char> stacks(size_t(MOST) * STACK);
  current = kernel, arguments = a, gridDim = {x, y};
  for (int row = 0; row < y; row++)
    for (int column = 0; column < x; column++) {
      blockIdx = {column, row};
      for (int i = 0; !waits && i < block; i++) threadIdx = {i, 0}, kernel(a);
      if (!waits) continue;
      for (int i = 0; i < block; i++) {
        getcontext(&threads[i]);
        threads[i].uc_stack.ss_sp = &stacks[size_t(i) * STACK];
        threads[i].uc_stack.ss_size = STACK;
        makecontext(&threads[i], run_thread, 0);
        running[i] = true;
      }
      for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < block; i++) {
          if (!running[i]) continue;
          threadIdx = {i, 0};
          swapcontext(&scheduler, &threads[i]);
          any |= running[i];
        }
      }
    }
}
