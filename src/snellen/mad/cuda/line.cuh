// Inverse transforms of whole lines in shared memory, for lengths R1 · R2 · R3 of small factors.
//
// Who holds what: the values of LINES lines lie side by side in shared memory. A transform has three
// steps, in place: a thread takes R1 (R2, R3) values of a line into registers, transforms them, multiplies
// them by twiddle factors and puts them back; each such butterfly touches no value of another one. With
// m = n2 · R3 + n3 the value n1 · (R2 · R3) + m of a line lies in cell n1 · STRIDE + m (odd, against bank
// conflicts), and there frequency k1 takes the place of n1, then k2 that of n2. The result
// k1 + R1 · k2 + R1 · R2 · k3 appears in registers, in natural order among threads.
//
// Barriers: none here; the block must be synchronised between steps. Macros from the host: R1, R2, R3,
// LINES, STRIDE, THREADS.
#pragma once
#include "moments.cuh"

constexpr int LENGTH = R1 * R2 * R3, REST = R2 * R3;
constexpr int CELLS = R1 * STRIDE * LINES;

// exp(2πi k / N) for k < N, N small: computed by the compiler in double precision.
template <int N>
struct Roots {
  float re[N] = {}, im[N] = {};
  __device__ constexpr Roots() {
    for (int k = 0; k < N; k++) {
      const double angle = 2 * 3.14159265358979323846 * (2 * k > N ? k - N : k) / N;
      double term = 1, even = 0, odd = 0;  // the series of the exponential function
      for (int i = 0; i < 40; i += 2) {
        even += i % 4 ? -term : term, term *= angle / (i + 1);
        odd += i % 4 ? -term : term, term *= angle / (i + 2);
      }
      re[k] = float(even), im[k] = float(odd);
    }
  }
};

template <int N>
__device__ constexpr Roots<N> roots = Roots<N>();

__device__ __forceinline__ float2 plus(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ float2 minus(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ __forceinline__ float2 product(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

__device__ constexpr int common(int a, int b) { return b ? common(b, a % b) : a; }

// Returns the number below a · b, which have no common factor, that leaves i and j when divided by them.
__device__ constexpr int remainders(int a, int b, int i, int j) {
  int k = i;
  while (k % b != j) k += a;
  return k;
}

// remainders(A, B, i, j) for all i, j, found by the compiler.
template <int A, int B>
struct Order {
  int of[A * B] = {};
  __device__ constexpr Order() {
    for (int i = 0; i < A; i++)
      for (int j = 0; j < B; j++) of[i * B + j] = remainders(A, B, i, j);
  }
};

template <int A, int B>
__device__ constexpr Order<A, B> order = Order<A, B>();

// Transforms R numbers in registers, in natural order on both sides: v[k] = Σ v[n] exp(2πi n k / R).
template <int R>
__device__ __forceinline__ void transform(float2 (&v)[R]) {
  constexpr int A = R % 4 == 0 ? 4 : R % 2 == 0 ? 2 : R % 3 == 0 ? 3 : R, B = R / A;
  if constexpr (R == 2) {
    const float2 a = v[0];
    v[0] = plus(a, v[1]), v[1] = minus(a, v[1]);
  } else if constexpr (R == 4) {
    const float2 a = plus(v[0], v[2]), b = minus(v[0], v[2]), c = plus(v[1], v[3]);
    const float2 d = {v[3].y - v[1].y, v[1].x - v[3].x};  // i (v[1] − v[3])
    v[0] = plus(a, c), v[1] = plus(b, d), v[2] = minus(a, c), v[3] = minus(b, d);
  } else if constexpr (B == 1) {  // a prime: sums and differences of opposite values
    constexpr int HALF = R / 2;
    float2 sum[HALF], difference[HALF], first = v[0];
#pragma unroll
    for (int n = 1; n <= HALF; n++) {
      sum[n - 1] = plus(v[n], v[R - n]), difference[n - 1] = minus(v[n], v[R - n]);
      v[0] = plus(v[0], sum[n - 1]);
    }
#pragma unroll
    for (int k = 1; k <= HALF; k++) {
      float2 even = first, odd = {};
#pragma unroll
      for (int n = 1; n <= HALF; n++) {
        const float c = roots<R>.re[n * k % R], s = roots<R>.im[n * k % R];
        even.x += c * sum[n - 1].x, even.y += c * sum[n - 1].y;
        if (n == 1)
          odd = {s * difference[0].x, s * difference[0].y};
        else
          odd.x += s * difference[n - 1].x, odd.y += s * difference[n - 1].y;
      }
      v[k] = {even.x - odd.y, even.y + odd.x}, v[R - k] = {even.x + odd.y, even.y - odd.x};
    }
  } else {
    // Without a common factor, values are taken in an order that needs no factors in between.
    constexpr bool PRIME = common(A, B) == 1;
    float2 t[R];
#pragma unroll
    for (int b = 0; b < B; b++) {
      float2 some[A];
#pragma unroll
      for (int a = 0; a < A; a++) some[a] = v[PRIME ? (B * a + A * b) % R : B * a + b];
      transform<A>(some);
#pragma unroll
      for (int a = 0; a < A; a++)
        if (PRIME || a * b == 0)
          t[a * B + b] = some[a];
        else if (4 * a * b == R)
          t[a * B + b] = {-some[a].y, some[a].x};
        else
          t[a * B + b] = product(some[a], {roots<R>.re[a * b % R], roots<R>.im[a * b % R]});
    }
#pragma unroll
    for (int a = 0; a < A; a++) {
      float2 some[B];
#pragma unroll
      for (int b = 0; b < B; b++) some[b] = t[a * B + b];
      transform<B>(some);
#pragma unroll
      for (int b = 0; b < B; b++) {
        if constexpr (PRIME)
          v[order<A, B>.of[a * B + b]] = some[b];
        else
          v[a + A * b] = some[b];
      }
    }
  }
}

// Multiplies v[k] by factors[(k − 1) · count], k > 0.
template <int R>
__device__ __forceinline__ void twiddle(float2 (&v)[R], const float2 *factors, int count) {
#pragma unroll
  for (int k = 1; k < R; k++) v[k] = product(v[k], __ldg(factors + (k - 1) * count));
}

// The first step. `of(line, m)` returns what `load(n)` of one butterfly does: it returns value
// n · REST + m of a line. Twiddle factors: (R1 − 1, R2 · R3) of this step, then (R2 − 1, R3) of the second.
template <typename Of>
__device__ __forceinline__ void first_step(float2 *cells, const float2 *__restrict__ factors,
                                           Of of) {
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < REST * LINES; b += THREADS) {
    const unsigned line = b % LINES, m = b / LINES;
    const auto load = of(line, m);
    float2 v[R1], *at = cells + b;
#pragma unroll
    for (int n = 0; n < R1; n++) v[n] = load(n);
    transform<R1>(v);
    twiddle<R1>(v, factors + m, REST);
#pragma unroll
    for (int k = 0; k < R1; k++) at[k * STRIDE * LINES] = v[k];
  }
}

__device__ __forceinline__ void second_step(float2 *cells, const float2 *__restrict__ factors) {
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < R1 * R3 * LINES; b += THREADS) {
    const unsigned line = b % LINES, i = b / LINES, n3 = i % R3;
    float2 *at = cells + (i / R3 * STRIDE + n3) * LINES + line;
    float2 v[R2];
#pragma unroll
    for (int n = 0; n < R2; n++) v[n] = at[n * R3 * LINES];
    transform<R2>(v);
    twiddle<R2>(v, factors + (R1 - 1) * REST + n3, R3);
#pragma unroll
    for (int k = 0; k < R2; k++) at[k * R3 * LINES] = v[k];
  }
}

// The third step of one butterfly, b < R1 · R2 · LINES: v[k] is value b / LINES + R1 · R2 · k of line
// b % LINES.
__device__ __forceinline__ void third_step(const float2 *cells, unsigned b, float2 (&v)[R3]) {
  const unsigned line = b % LINES, i = b / LINES;
  const float2 *at = cells + (i % R1 * STRIDE + i / R1 * R3) * LINES + line;
#pragma unroll
  for (int n = 0; n < R3; n++) v[n] = at[n * LINES];
  transform<R3>(v);
}
