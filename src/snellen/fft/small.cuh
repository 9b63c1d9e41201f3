// Small Fourier transforms for kernels that include them: lines of 32, 64, 128 or 256 points.
//
// A line is shared by LANES = N / V lanes of one warp, V values each: lane l has the samples
// l + LANES · j, j = 0 … V − 1. It goes in two steps, N = V · LANES:
//   1. each lane transforms its own V values;
//   2. the lanes exchange values through memory, so that one has value k of all lanes, turns that of
//      lane l by exp(−2πi l k / N), and transforms along the lanes.
// What comes out lies as what came in: lane l has the frequencies l + LANES · j. So nothing is ever
// reordered: no bit reversal, no transposition between forward and backward, and products of spectra
// are products of registers. Nothing is scaled.
//
// Where a line lies in memory is told by its place: place[j] is the value at l + LANES · j, and
// place.put(k), place.get(a, i) are the cells of the exchange. See places.cuh.
#pragma once
#include "gpu/device.cuh"

// For `snellen bench fft`, which tells what each choice is worth: where turns come from (0 a table, 1 the
// same computed each time, 2 the hardware's fast sine each time), whether cells avoid the banks, and (places.cuh)
// whether they are read and written by 64 bits, or by 32.
#ifndef SINES
#define SINES 0
#endif
#ifndef BANKS
#define BANKS 1
#endif

__device__ __forceinline__ float2 operator+(float2 a, float2 b) {
  return make_float2(a.x + b.x, a.y + b.y);
}

__device__ __forceinline__ float2 operator-(float2 a, float2 b) {
  return make_float2(a.x - b.x, a.y - b.y);
}

__device__ __forceinline__ float2 operator*(float2 a, float2 b) {
  return make_float2(fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x));
}

__device__ __forceinline__ float2 conj(float2 a) { return make_float2(a.x, -a.y); }

// a · w forward, a · conj(w) backward
template <bool BACK>
__device__ __forceinline__ float2 times(float2 a, float2 w) {
  return BACK ? make_float2(fmaf(a.x, w.x, a.y * w.y), fmaf(a.y, w.x, -a.x * w.y)) : a * w;
}

// a · (−i) forward, a · i backward
template <bool BACK>
__device__ __forceinline__ float2 quarter(float2 a) {
  return BACK ? make_float2(-a.y, a.x) : make_float2(a.y, -a.x);
}

// exp(−2πi k / 16)
__device__ constexpr float2 sixteenth(int k) {
  constexpr float c[16] = {1.f, .9238795325f, .7071067812f, .3826834324f, 0.f, -.3826834324f,
                           -.7071067812f, -.9238795325f, -1.f, -.9238795325f, -.7071067812f,
                           -.3826834324f, 0.f, .3826834324f, .7071067812f, .9238795325f};
  return {c[k & 15], c[(k + 4) & 15]};
}

// A transform of R registers v[0], v[S], v[2 S] …, natural order in and out.
template <int R, int S, bool BACK>
__device__ __forceinline__ void radix(float2 *v) {
  if constexpr (R == 2) {
    const float2 a = v[0];
    v[0] = a + v[S], v[S] = a - v[S];
  } else if constexpr (R == 4) {
    const float2 a = v[0] + v[2 * S], b = v[0] - v[2 * S], c = v[S] + v[3 * S];
    const float2 d = quarter<BACK>(v[S] - v[3 * S]);
    v[0] = a + c, v[S] = b + d, v[2 * S] = a - c, v[3 * S] = b - d;
  } else {  // R = 4 Q: Q transforms of 4, turned, then four of Q; X[k + 4 m] comes out at 4 k' …
    constexpr int Q = R / 4;
    float2 t[R];
#pragma unroll
    for (int b = 0; b < Q; b++) {
      radix<4, Q * S, BACK>(v + b * S);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float2 a = v[(b + Q * k) * S];
        t[Q * k + b] = b * k == 0 ? a
                       : b * k * 16 / R == 4 ? quarter<BACK>(a)
                                             : times<BACK>(a, sixteenth(b * k * 16 / R));
      }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      radix<Q, 1, BACK>(t + Q * k);
#pragma unroll
      for (int m = 0; m < Q; m++) v[(k + 4 * m) * S] = t[Q * k + m];
    }
  }
}

// Which of the turns of `turned` belongs to frequency k of a transform of R.
__device__ constexpr int turn(int r, int k) { return r == 2 ? 0 : r / 4 + k % (r / 4); }

// The same, of values that are turned first: v[i S] by z^i. Multiplied and added at once; w has
// z^(R₀ / r) exp(−2πi k / r) at turn(r, k), for r = 2, 4 … R₀, the outermost R.
template <int R, int S, bool BACK>
__device__ __forceinline__ void turned(float2 *v, const float2 *w) {
  if constexpr (R > 1) {
    turned<R / 2, 2 * S, BACK>(v, w);
    turned<R / 2, 2 * S, BACK>(v + S, w);
    float2 t[R];
#pragma unroll
    for (int k = 0; k < R / 2; k++) {
      const float2 a = v[2 * S * k], b = v[2 * S * k + S], u = w[turn(R, k)];
      const float2 z = 4 * k < R || R == 2 ? u : make_float2(u.y, -u.x);
      const float re = BACK ? fmaf(z.y, b.y, a.x) : fmaf(-z.y, b.y, a.x);
      const float im = BACK ? fmaf(-z.y, b.x, a.y) : fmaf(z.y, b.x, a.y);
      t[k] = make_float2(fmaf(z.x, b.x, re), fmaf(z.x, b.y, im));
      t[k + R / 2] = make_float2(fmaf(2.f, a.x, -t[k].x), fmaf(2.f, a.y, -t[k].y));
    }
#pragma unroll
    for (int k = 0; k < R; k++) v[S * k] = t[k];
  }
}

__device__ __forceinline__ float2 squared(float2 a) {
  return make_float2(fmaf(a.x, a.x, -a.y * a.y), (a.x + a.x) * a.y);
}

// A transform of N points by N / V lanes; all lanes of a warp come together, with lines of their own.
// The lanes of TOGETHER lines take turns in a warp.
template <int N_, int V_, int TOGETHER = 1>
struct Line {
  static constexpr int N = N_, V = V_, LANES = N / V;
  static constexpr int EACH = LANES < V ? LANES : V;       // points of a transform of the second step
  static constexpr int SHARE = LANES > V ? LANES / V : 1;  // lanes that share one of them
  static constexpr bool THRICE = SHARE > 2;  // then these go in two steps themselves
  static constexpr int LAST = THRICE ? (SHARE > V ? SHARE / V : 1) : SHARE;  // share at the end
  static constexpr bool TWICE = V == 2 * EACH;  // a lane has two of them
  static constexpr int PAIR = EACH / 2, MIDDLE = EACH / 2 + 2;  // entries of a row of turns
  static constexpr int ONLY = EACH / 4;  // the one that a row has if TWICE: the others are made of it
  static constexpr int SPREAD = TWICE ? 1 : THRICE ? 6 : EACH / 2 + 2;  // a row's cells: reads meet no bank
  static constexpr int ROWS = TWICE || LANES > V ? LANES : V, TURNS = ROWS * SPREAD;  // of the table
  static_assert(N == V * LANES && LANES <= 32 && LAST <= 2 && V % 4 == 0 && V <= 2 * LANES, "no such line");
  static_assert(!THRICE || V == 4, "no such line");

  // Entry k of a row of the table of turns.
  static __device__ float2 entry(int row, int k) {
    const int points = THRICE && k >= MIDDLE ? N / SHARE : N;
    if (THRICE && k >= MIDDLE) k -= MIDDLE, row %= V;
    int r = 2;  // the transform that entry k belongs to
    while (r / 2 <= k && r < EACH) r *= 2;
    const float part = k == PAIR ? float(row * EACH) / N
                                 : float(row * EACH) / (r * points) + (r > 2 ? k - r / 4 : 0) / float(r);
    float2 w;
    if (SINES == 2)
      __sincosf(-6.2831853072f * part, &w.y, &w.x);
    else
      sincospif(-2.f * part, &w.y, &w.x);
    return w;
  }

  // Fills the table; all threads of the block.
  static __device__ void prepare(float2 *turns) {
    for (int i = threadIdx.x; i < TURNS; i += THREADS) turns[i] = entry(i / SPREAD, TWICE ? ONLY : i % SPREAD);
  }

  // Which lane of its line this thread is, and which of all lines in flight that is.
  static __device__ int lane() { return threadIdx.x / TOGETHER % LANES; }
  static __device__ int line() {
    return threadIdx.x / (LANES * TOGETHER) * TOGETHER + threadIdx.x % TOGETHER;
  }

  // The position of value j, and the opposite one.
  static __device__ int position(int j) { return lane() + LANES * j; }
  static __device__ int opposite(int j) { return -position(j) & (N - 1); }

  // What the line's first lane has.
  static __device__ float2 first(float2 a) {
    const int lane = threadIdx.x % TOGETHER;
    return make_float2(__shfl_sync(ALL, a.x, lane, LANES * TOGETHER),
                       __shfl_sync(ALL, a.y, lane, LANES * TOGETHER));
  }

  template <bool BACK, class Place, class Turns>
  static __device__ __forceinline__ void transform(float2 (&v)[V], const Place &place,
                                                   const Turns &turns) {
    begin<BACK>(v, place, turns);
    __syncwarp();
    finish<BACK>(v, place, turns);
    __syncwarp();  // the cells may be written again
  }

  // All up to the last exchange, whose cells are written.
  template <bool BACK, class Place, class Turns>
  static __device__ __forceinline__ void begin(float2 (&v)[V], const Place &place,
                                               const Turns &turns) {
    radix<V, 1, BACK>(v);
    __syncwarp();  // what the cells held has been read by all
#pragma unroll
    for (int k = 0; k < V; k++) place.put(k) = v[k];
    if constexpr (THRICE) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < V; i++) v[i] = place.middle(i);
      float2 w[EACH / 2];
      load(w, turns, lane(), MIDDLE);
      turned<EACH, 1, BACK>(v, w);
      __syncwarp();
#pragma unroll
      for (int k = 0; k < V; k++) place.put_again(k) = v[k];
    }
  }

  // The rest, from there; maybe by other lanes than those that wrote.
  template <bool BACK, class Place, class Turns>
  static __device__ __forceinline__ void finish(float2 (&v)[V], const Place &place,
                                                const Turns &turns) {
    const int l = lane();
    constexpr int A = TWICE ? 2 : 1;  // transforms of a lane
    if constexpr (LAST == 1) {
#pragma unroll
      for (int i = 0; i < V; i++) v[i] = place.get(i % A, i / A);
    } else {  // two lanes: the even frequencies, and the odd ones
      const float4 two = turns.two(l, PAIR);
      const float2 w = SINES ? entry(l, PAIR) : make_float2(two.x, two.y);
#pragma unroll
      for (int i = 0; i < V; i++) v[i] = place.get(0, i) + times<BACK>(place.get(1, i), w);
    }
    float2 w[EACH / 2];
    load(w, turns, l, 0);
    turned<EACH, A, BACK>(v, w);
    if constexpr (TWICE) {
      half_way(w);
      turned<EACH, A, BACK>(v + 1, w);
    }
  }

 private:
  // The turns of a row, from entry `first` on. Where a lane has two transforms only one is read: shared memory
  // is busier than arithmetic.
  template <class Turns>
  static __device__ __forceinline__ void load(float2 (&w)[EACH / 2], const Turns &turns, int row,
                                              int first) {
    if constexpr (TWICE) {
      w[ONLY] = SINES ? entry(row, ONLY) : turns.only(row);
      if constexpr (EACH == 8) w[3] = w[2] * sixteenth(2), w[1] = squared(w[2]);
      w[0] = squared(w[1]);
    } else {
#pragma unroll
      for (int k = 0; k < EACH / 2; k += 2) {
        const float4 two = turns.two(row, first + k);
        w[k] = make_float2(two.x, two.y), w[k + 1] = make_float2(two.z, two.w);
        if (SINES) w[k] = entry(row, first + k), w[k + 1] = entry(row, first + k + 1);
      }
    }
  }

  // Makes the turns of row l those of row l + LANES = l + V / 2: times exp(−πi / r).
  static __device__ __forceinline__ void half_way(float2 (&w)[EACH / 2]) {
    static_assert(EACH <= 8, "no such line");
    w[0] = quarter<false>(w[0]);
    if (EACH > 2) w[1] = w[1] * sixteenth(2);
    if (EACH > 4) w[2] = w[2] * sixteenth(1), w[3] = w[3] * sixteenth(1);
  }
};

// Turns that are read from the table each time.
template <class Line>
struct Turns {
  const float2 *table;
  __device__ explicit Turns(const float2 *table) : table(table) {}
  __device__ __forceinline__ float2 only(int row) const { return table[row]; }
  __device__ __forceinline__ float4 two(int row, int k) const {  // entries k and k + 1 of a row
    return *reinterpret_cast<const float4 *>(table + row * Line::SPREAD + k);
  }
};

// The row of this lane in registers, where it needs no other.
template <class Line>
struct Kept {
  static_assert(!Line::TWICE, "no such row");
  float4 row[Line::SPREAD / 2];
  __device__ explicit Kept(const float2 *table) {
#pragma unroll
    for (int k = 0; k < Line::SPREAD; k += 2) row[k / 2] = Turns<Line>(table).two(Line::lane(), k);
  }
  __device__ __forceinline__ float4 two(int, int k) const { return row[k / 2]; }
};
