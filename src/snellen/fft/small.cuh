// Device functions for small 1-D complex FFTs, for kernels that include them: lines of N = 32, 64,
// 128 or 256 points, several lines per warp, nothing scaled.
//
// Who holds what: a line belongs to LANES = N / V lanes of one warp, which hold V values each in
// registers. Lane l holds samples l + LANES · j for j = 0 … V − 1. The transform (Cooley–Tukey,
// N = V · LANES) has two steps:
//   1. Each lane transforms its own V values (a radix-V FFT in registers).
//   2. The lanes exchange values through shared memory, so that one lane receives value k of all
//      lanes; it multiplies the value of lane l by the twiddle factor exp(−2πi l k / N) and
//      transforms along the lanes.
// The result has the order of the input: lane l holds frequencies l + LANES · j. So neither a bit
// reversal nor a transposition is needed, and a product of two spectra is a product of registers.
//
// Barriers: `transform` synchronises the warp (__syncwarp) before it writes the exchange memory,
// between writing and reading, and at the end, so all 32 lanes must call it together. `begin` and
// `finish` are its two halves; between them the caller places the barrier.
//
// Where the exchange memory lies is the caller's choice, expressed by a `Layout` type. It offers
//   layout[j]                       the cell of sample l + LANES · j,
//   layout.exchange_store(k)        where this lane writes value k of step 1,
//   layout.exchange_load(a, i)      from where it reads value i of its step-2 transform a,
// and, for lines of three steps (THREE_STEPS), second_load(i) and second_store(k) for the exchange
// in the middle. layout.cuh has these types.
#pragma once
#include "gpu/device.cuh"

__device__ __forceinline__ float2 operator+(float2 a, float2 b) {
  return make_float2(a.x + b.x, a.y + b.y);
}

__device__ __forceinline__ float2 operator-(float2 a, float2 b) {
  return make_float2(a.x - b.x, a.y - b.y);
}

// The complex product.
__device__ __forceinline__ float2 operator*(float2 a, float2 b) {
  return make_float2(fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x));
}

__device__ __forceinline__ float2 conj(float2 a) { return make_float2(a.x, -a.y); }

// Returns a · w for a forward transform, a · conj(w) for an inverse one.
template <bool INVERSE>
__device__ __forceinline__ float2 times_twiddle(float2 a, float2 w) {
  return INVERSE ? make_float2(fmaf(a.x, w.x, a.y * w.y), fmaf(a.y, w.x, -a.x * w.y)) : a * w;
}

// Returns a · (−i) for a forward transform, a · i for an inverse one.
template <bool INVERSE>
__device__ __forceinline__ float2 rotate_quarter(float2 a) {
  return INVERSE ? make_float2(-a.y, a.x) : make_float2(a.y, -a.x);
}

// Returns exp(−2πi k / 16).
__device__ constexpr float2 sixteenth_root(int k) {
  constexpr float c[16] = {1.f,  .9238795325f,  .7071067812f,  .3826834324f,
                           0.f,  -.3826834324f, -.7071067812f, -.9238795325f,
                           -1.f, -.9238795325f, -.7071067812f, -.3826834324f,
                           0.f,  .3826834324f,  .7071067812f,  .9238795325f};
  return {c[k & 15], c[(k + 4) & 15]};
}

// Transforms the R registers v[0], v[S], v[2 S] …, in natural order on both sides.
template <int R, int S, bool INVERSE>
__device__ __forceinline__ void radix(float2 *v) {
  if constexpr (R == 2) {
    const float2 a = v[0];
    v[0] = a + v[S], v[S] = a - v[S];
  } else if constexpr (R == 4) {
    const float2 a = v[0] + v[2 * S], b = v[0] - v[2 * S], c = v[S] + v[3 * S];
    const float2 d = rotate_quarter<INVERSE>(v[S] - v[3 * S]);
    v[0] = a + c, v[S] = b + d, v[2 * S] = a - c, v[3 * S] = b - d;
  } else {  // R = 4 Q: Q transforms of 4 points, twiddle factors, then 4 transforms of Q points
    constexpr int Q = R / 4;
    float2 t[R];
#pragma unroll
    for (int b = 0; b < Q; b++) {
      radix<4, Q * S, INVERSE>(v + b * S);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float2 a = v[(b + Q * k) * S];
        t[Q * k + b] = b * k == 0 ? a
                       : b * k * 16 / R == 4
                           ? rotate_quarter<INVERSE>(a)
                           : times_twiddle<INVERSE>(a, sixteenth_root(b * k * 16 / R));
      }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      radix<Q, 1, INVERSE>(t + Q * k);
#pragma unroll
      for (int m = 0; m < Q; m++) v[(k + 4 * m) * S] = t[Q * k + m];
    }
  }
}

// Returns which entry of the twiddle array w of `twiddled_radix` is used for frequency k of its
// inner transform of r points.
__device__ constexpr int twiddle_entry(int r, int k) { return r == 2 ? 0 : r / 4 + k % (r / 4); }

// Multiplies v[i S] by z^i and then transforms the R values, as one decimation-in-time FFT whose
// butterflies contain the twiddle factors as fused multiply-adds. w[twiddle_entry(r, k)] holds
// z^(R₀ / r) · exp(−2πi k / r) for r = 2, 4 … R₀, where R₀ is the R of the outermost call.
template <int R, int S, bool INVERSE>
__device__ __forceinline__ void twiddled_radix(float2 *v, const float2 *w) {
  if constexpr (R > 1) {
    twiddled_radix<R / 2, 2 * S, INVERSE>(v, w);
    twiddled_radix<R / 2, 2 * S, INVERSE>(v + S, w);
    float2 t[R];
#pragma unroll
    for (int k = 0; k < R / 2; k++) {
      const float2 a = v[2 * S * k], b = v[2 * S * k + S], u = w[twiddle_entry(R, k)];
      const float2 z = 4 * k < R || R == 2 ? u : make_float2(u.y, -u.x);
      const float re = INVERSE ? fmaf(z.y, b.y, a.x) : fmaf(-z.y, b.y, a.x);
      const float im = INVERSE ? fmaf(-z.y, b.x, a.y) : fmaf(z.y, b.x, a.y);
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

// An FFT of N points by N / V lanes. With INTERLEAVE > 1, consecutive threads belong to INTERLEAVE
// different lines instead of to one, so that a half-warp holds the same position of several lines.
template <int N_, int V_, int INTERLEAVE = 1>
struct Line {
  static constexpr int N = N_, V = V_, LANES = N / V;
  // Points of a step-2 transform that one lane computes, and how many lanes share one such
  // transform because it is longer than V.
  static constexpr int SUB = LANES < V ? LANES : V;
  static constexpr int SUB_LANES = LANES > V ? LANES / V : 1;
  // With more than two lanes to share it, the step-2 transform is itself split into two steps.
  static constexpr bool THREE_STEPS = SUB_LANES > 2;
  static constexpr int LAST_LANES = THREE_STEPS ? (SUB_LANES > V ? SUB_LANES / V : 1) : SUB_LANES;
  static constexpr bool TWO_SUBS = V == 2 * SUB;  // a lane computes two step-2 transforms

  // The twiddle table has TABLE_ROWS rows, one for each lane or value index. A row holds the SUB /
  // 2 factors of `twiddled_radix`, then at SPLIT_ENTRY the factor between two lanes that share a
  // transform, and from MIDDLE_ENTRY on the factors of the middle step. With TWO_SUBS a row holds
  // the factor BASE_ENTRY alone; the others are its squares and products with constants. The row
  // stride keeps 128-bit reads of a half-warp free of bank conflicts.
  static constexpr int SPLIT_ENTRY = SUB / 2, MIDDLE_ENTRY = SUB / 2 + 2, BASE_ENTRY = SUB / 4;
  static constexpr int ROW_STRIDE = TWO_SUBS ? 1 : THREE_STEPS ? 6 : SUB / 2 + 2;
  static constexpr int TABLE_ROWS = TWO_SUBS || LANES > V ? LANES : V;
  static constexpr int TWIDDLES = TABLE_ROWS * ROW_STRIDE;  // complex numbers of the table
  static_assert(N == V * LANES && LANES <= 32 && LAST_LANES <= 2 && V % 4 == 0 && V <= 2 * LANES,
                "this combination of points and values per lane is not supported");
  static_assert(!THREE_STEPS || V == 4, "three steps are written for four values per lane");

  // Returns entry k of a row of the twiddle table.
  static __device__ float2 entry(int row, int k) {
    const int points = THREE_STEPS && k >= MIDDLE_ENTRY ? N / SUB_LANES : N;
    if (THREE_STEPS && k >= MIDDLE_ENTRY) k -= MIDDLE_ENTRY, row %= V;
    int r = 2;  // the inner transform that entry k belongs to
    while (r / 2 <= k && r < SUB) r *= 2;
    const float part = k == SPLIT_ENTRY
                           ? float(row * SUB) / N
                           : float(row * SUB) / (r * points) + (r > 2 ? k - r / 4 : 0) / float(r);
    float2 w;
    sincospif(-2.f * part, &w.y, &w.x);
    return w;
  }

  // Fills the table. All threads of the block take part; a __syncthreads must follow.
  static __device__ void fill(float2 *table) {
    for (int i = threadIdx.x; i < TWIDDLES; i += THREADS)
      table[i] = entry(i / ROW_STRIDE, TWO_SUBS ? BASE_ENTRY : i % ROW_STRIDE);
  }

  // Returns this thread's lane within its line, and the index of its line within the block.
  static __device__ int lane() { return threadIdx.x / INTERLEAVE % LANES; }
  static __device__ int line() {
    return threadIdx.x / (LANES * INTERLEAVE) * INTERLEAVE + threadIdx.x % INTERLEAVE;
  }

  // Returns the position (sample or frequency) of this lane's value j, and −position modulo N.
  static __device__ int position(int j) { return lane() + LANES * j; }
  static __device__ int opposite(int j) { return -position(j) & (N - 1); }

  // Returns the value that lane 0 of the same line passes in.
  static __device__ float2 first(float2 a) {
    const int lane = threadIdx.x % INTERLEAVE;
    return make_float2(__shfl_sync(ALL, a.x, lane, LANES * INTERLEAVE),
                       __shfl_sync(ALL, a.y, lane, LANES * INTERLEAVE));
  }

  // Transforms v in place; all lanes of the warp call it together.
  template <bool INVERSE, class Layout, class Twiddles>
  static __device__ __forceinline__ void transform(float2 (&v)[V], const Layout &layout,
                                                   const Twiddles &twiddles) {
    begin<INVERSE>(v, layout, twiddles);
    __syncwarp();
    finish<INVERSE>(v, layout, twiddles);
    __syncwarp();  // from here on the exchange memory may be written again
  }

  // Does everything up to the writes of the last exchange.
  template <bool INVERSE, class Layout, class Twiddles>
  static __device__ __forceinline__ void begin(float2 (&v)[V], const Layout &layout,
                                               const Twiddles &twiddles) {
    radix<V, 1, INVERSE>(v);
    __syncwarp();  // all lanes have read the former content of the exchange memory
#pragma unroll
    for (int k = 0; k < V; k++) layout.exchange_store(k) = v[k];
    if constexpr (THREE_STEPS) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < V; i++) v[i] = layout.second_load(i);
      float2 w[SUB / 2];
      load(w, twiddles, lane(), MIDDLE_ENTRY);
      twiddled_radix<SUB, 1, INVERSE>(v, w);
      __syncwarp();
#pragma unroll
      for (int k = 0; k < V; k++) layout.second_store(k) = v[k];
    }
  }

  // Does the rest, from the reads of the last exchange on. It may run on other lanes than `begin`,
  // if the caller's barrier covers both.
  template <bool INVERSE, class Layout, class Twiddles>
  static __device__ __forceinline__ void finish(float2 (&v)[V], const Layout &layout,
                                                const Twiddles &twiddles) {
    const int l = lane();
    constexpr int A = TWO_SUBS ? 2 : 1;  // step-2 transforms of a lane
    if constexpr (LAST_LANES == 1) {
#pragma unroll
      for (int i = 0; i < V; i++) v[i] = layout.exchange_load(i % A, i / A);
    } else {  // two lanes share a transform: one gets the even frequencies, the other the odd ones
      const float4 two = twiddles.pair(l, SPLIT_ENTRY);
      const float2 w = make_float2(two.x, two.y);
#pragma unroll
      for (int i = 0; i < V; i++)
        v[i] = layout.exchange_load(0, i) + times_twiddle<INVERSE>(layout.exchange_load(1, i), w);
    }
    float2 w[SUB / 2];
    load(w, twiddles, l, 0);
    twiddled_radix<SUB, A, INVERSE>(v, w);
    if constexpr (TWO_SUBS) {
      advance_half_row(w);
      twiddled_radix<SUB, A, INVERSE>(v + 1, w);
    }
  }

 private:
  // Loads the factors of a row from entry `first` on. With TWO_SUBS one factor is read and the
  // others are computed from it, because shared memory is busier than the arithmetic units.
  template <class Twiddles>
  static __device__ __forceinline__ void load(float2 (&w)[SUB / 2], const Twiddles &twiddles,
                                              int row, int first) {
    if constexpr (TWO_SUBS) {
      w[BASE_ENTRY] = twiddles.base(row);
      if constexpr (SUB == 8) w[3] = w[2] * sixteenth_root(2), w[1] = squared(w[2]);
      w[0] = squared(w[1]);
    } else {
#pragma unroll
      for (int k = 0; k < SUB / 2; k += 2) {
        const float4 two = twiddles.pair(row, first + k);
        w[k] = make_float2(two.x, two.y), w[k + 1] = make_float2(two.z, two.w);
      }
    }
  }

  // Changes the factors of row l to those of row l + LANES = l + V / 2, the row of the lane's
  // second transform: entry r is multiplied by exp(−πi / r).
  static __device__ __forceinline__ void advance_half_row(float2 (&w)[SUB / 2]) {
    static_assert(SUB <= 8, "written for step-2 transforms of at most 8 points");
    w[0] = rotate_quarter<false>(w[0]);
    if (SUB > 2) w[1] = w[1] * sixteenth_root(2);
    if (SUB > 4) w[2] = w[2] * sixteenth_root(1), w[3] = w[3] * sixteenth_root(1);
  }
};

// Twiddle factors that are read from the table in shared memory at each use.
template <class Line>
struct TableTwiddles {
  const float2 *table;
  __device__ explicit TableTwiddles(const float2 *table) : table(table) {}
  // Entry BASE_ENTRY of a row, the only one that a table with TWO_SUBS has.
  __device__ __forceinline__ float2 base(int row) const { return table[row]; }
  // Entries k and k + 1 of a row.
  __device__ __forceinline__ float4 pair(int row, int k) const {
    return *reinterpret_cast<const float4 *>(table + row * Line::ROW_STRIDE + k);
  }
};

// Twiddle factors of this lane's row, cached in registers for the life of the kernel.
template <class Line>
struct RegisterTwiddles {
  static_assert(!Line::TWO_SUBS, "a table with TWO_SUBS has one factor per row: read it");
  float4 row[Line::ROW_STRIDE / 2];
  __device__ explicit RegisterTwiddles(const float2 *table) {
#pragma unroll
    for (int k = 0; k < Line::ROW_STRIDE; k += 2)
      row[k / 2] = TableTwiddles<Line>(table).pair(Line::lane(), k);
  }
  __device__ __forceinline__ float4 pair(int, int k) const { return row[k / 2]; }
};
