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
// place.put(k), place.get(a, i) are the cells of the exchange. The places below never let two lanes
// of a half-warp meet in one bank, with 64-bit accesses.
#pragma once
#include "device.cuh"

// For `snellen bench fft`, which tells what each choice is worth: where turns come from (0 a table, 1 the
// same computed each time, 2 the hardware's fast sine each time), whether cells avoid the banks, and whether
// they are read and written by 64 bits, or by 32.
#ifndef SINES
#define SINES 0
#endif
#ifndef BANKS
#define BANKS 1
#endif
#ifndef WIDE
#define WIDE 1
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

// A transform of N points by N / V lanes; all lanes of a warp come together, with lines of their own.
// The lanes of TOGETHER lines take turns in a warp.
template <int N_, int V_, int TOGETHER = 1>
struct Line {
  static constexpr int N = N_, V = V_, LANES = N / V;
  static constexpr int EACH = LANES < V ? LANES : V;       // points of a transform of the second step
  static constexpr int SHARE = LANES > V ? LANES / V : 1;  // lanes that share one of them
  static constexpr bool THRICE = SHARE > 2;  // then these go in two steps themselves
  static constexpr int LAST = THRICE ? (SHARE > V ? SHARE / V : 1) : SHARE;  // share at the end
  static constexpr int PAIR = EACH / 2, MIDDLE = EACH / 2 + 2;  // entries of a row of turns
  static constexpr int SPREAD = THRICE ? 6 : EACH / 2 + 2;  // its cells: 16-byte reads meet no bank
  static constexpr int ROWS = LANES > V ? LANES : V, TURNS = ROWS * SPREAD;  // of the table
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
    for (int i = threadIdx.x; i < TURNS; i += THREADS) turns[i] = entry(i / SPREAD, i % SPREAD);
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
    constexpr int A = V / EACH;  // transforms of a lane
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
    if constexpr (A == 2) {
      half_way(w);
      turned<EACH, A, BACK>(v + 1, w);
    }
  }

 private:
  // What a row of the table has from entry `first` on.
  template <class Turns>
  static __device__ __forceinline__ void load(float2 (&w)[EACH / 2], const Turns &turns, int row,
                                              int first) {
#pragma unroll
    for (int k = 0; k < EACH / 2; k += 2) {
      const float4 two = turns.two(row, first + k);
      w[k] = make_float2(two.x, two.y), w[k + 1] = make_float2(two.z, two.w);
      if (SINES) w[k] = entry(row, first + k), w[k + 1] = entry(row, first + k + 1);
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
  __device__ __forceinline__ float4 two(int row, int k) const {  // entries k and k + 1 of a row
    return *reinterpret_cast<const float4 *>(table + row * Line::SPREAD + k);
  }
};

// The row of this lane in registers, where it needs no other.
template <class Line>
struct Kept {
  float4 row[Line::SPREAD / 2];
  __device__ explicit Kept(const float2 *table) {
#pragma unroll
    for (int k = 0; k < Line::SPREAD; k += 2) row[k / 2] = Turns<Line>(table).two(Line::lane(), k);
  }
  __device__ __forceinline__ float4 two(int, int k) const { return row[k / 2]; }
};

__device__ __forceinline__ uint32_t shared_address(const void *p) {
  return uint32_t(__cvta_generic_to_shared(p));
}

#if WIDE
using Cell = float2 &;
__device__ __forceinline__ Cell cell(float2 *at) { return *at; }
#else
struct Cell {
  volatile float *at;
  __device__ __forceinline__ operator float2() const { return make_float2(at[0], at[1]); }
  __device__ __forceinline__ void operator=(float2 v) const { at[0] = v.x, at[1] = v.y; }
};
__device__ __forceinline__ Cell cell(float2 *at) { return {&at->x}; }
#endif

// Where a tile lies: shared memory has 32-bit addresses, of which one XOR and a constant make another.
template <bool SHARED>
struct Memory {
  using Address = uint32_t;
  static __device__ Address address(const float2 *p) { return shared_address(p); }
  static __device__ float2 *at(Address a) {
    return static_cast<float2 *>(__cvta_shared_to_generic(a));
  }
};
template <>
struct Memory<false> {
  using Address = size_t;
  static __device__ Address address(const float2 *p) { return reinterpret_cast<Address>(p); }
  static __device__ float2 *at(Address a) { return reinterpret_cast<float2 *>(a); }
};

// Bits of k in another order, of SIZE: so that lines that a half-warp has at once meet in no bank.
template <int SIZE>
__device__ constexpr int shuffled(int k) {
  k &= SIZE - 1;
  return !BANKS ? 0 : SIZE == 4 ? (k ^ k << 1) & 3 : SIZE == 8 ? (k << 1 | k >> 2) & 7 : k;
}

// Cells of a tile, PITCH to a row: (y, x) is y · PITCH + (x ^ folded(y)), with which lanes along x meet in no
// bank, nor lanes along y, be they beside one another or, as they get from the exchange, FOLD apart: so many
// lanes has a column.
template <int FOLD>
__device__ constexpr int folded(int y) {
  return BANKS ? (y & 15) ^ shuffled<FOLD>(y / FOLD) : 0;
}

// A line in its own row (COLUMN false) or column of a tile, which begins at a multiple of 128 bytes. Value k
// of the exchange, of lane l, is at k · LANES + l, in a row with l ^ mixed(k) instead of l; lane k gets along l.
template <class Line, bool COLUMN, int PITCH, int FOLD, bool SHARED = true>
struct InPlace {
  using Where = Memory<SHARED>;
  using Address = typename Where::Address;
  static constexpr int L = Line::LANES;
  static_assert(L <= 16 && PITCH % 16 == 0 && (!COLUMN || FOLD == L), "no such tile");
  float2 *tile;
  int line;
  Address home, away;

  __device__ InPlace(float2 *tile, int line)
      : InPlace(tile, line, Line::SHARE > 1 ? Line::lane() % Line::V : Line::lane()) {}

  __device__ InPlace(float2 *tile, int line, int got) : tile(tile), line(line) {
    const int l = Line::lane(), block = L * got, turn = block & 15 ^ mixed(got);
    home = Where::address(COLUMN ? tile + l * PITCH + (line ^ folded<FOLD>(l))
                                 : tile + line * PITCH + (l ^ folded<FOLD>(line)));
    away = Where::address(COLUMN ? tile + block * PITCH + (line ^ folded<FOLD>(block))
                                 : tile + line * PITCH + (block & ~15) + (turn ^ folded<FOLD>(line)));
  }

  // What is done to lanes in a row, for value k.
  static __device__ constexpr int mixed(int k) {
    return !BANKS ? 0 : L == 4 ? (k << 1 & 2) | (k >> 1 & 1) : k & (L - 1);
  }

  __device__ __forceinline__ Cell operator[](int j) const {
    return COLUMN ? moved(home, folded<FOLD>(L * j), L * j * PITCH)
                  : moved(home, L * j & 15, L * j & ~15);
  }
  __device__ __forceinline__ Cell at(int p) const {
    return cell(tile + (COLUMN ? p * PITCH + (line ^ folded<FOLD>(p))
                               : line * PITCH + (p ^ folded<FOLD>(line))));
  }
  __device__ __forceinline__ Cell put(int k) const {
    return COLUMN ? (*this)[k] : moved(home, L * k & 15 ^ mixed(k), L * k & ~15);
  }
  __device__ __forceinline__ Cell get(int a, int i) const { return got(away, a, i); }

  static __device__ __forceinline__ Cell got(Address away, int a, int i) {
    const int along = Line::SHARE > 1 ? i + Line::V * a : i, beyond = Line::SHARE > 1 ? 0 : L * L * a;
    return COLUMN ? moved(away, folded<FOLD>(along), (along + beyond) * PITCH)
                  : moved(away, along, beyond);
  }

 private:
  // From an address, so many cells on, of the lowest 16 that which XOR gives.
  static __device__ __forceinline__ Cell moved(Address from, int turn, int by) {
    return cell(Where::at((from ^ 8 * turn) + 8 * by));
  }
};

// Line number i of those that a pass takes in turn: the two or four in a half-warp lie apart, so that
// no two of their cells are in one bank.
template <class Line>
__device__ __forceinline__ int spaced(int i) {
  constexpr int L = Line::LANES, M = L < 16 ? 16 / L : 1;
  const int s = i % M, rest = i / M;
  return M == 1 ? i : rest % L + L * s + 16 * (rest / L);
}

// The exchange in memory of its own, WARP cells for each warp: needs no arithmetic.
template <class Line>
struct Cells {
  static constexpr int L = Line::LANES, V = Line::V, AGAIN = Line::SHARE + 1;  // apart, each of these
  static constexpr int P = Line::THRICE ? V * AGAIN : L + 1;
  static constexpr int LINE = L < 16 ? V * P : (V * P + 13) / 16 * 16 + 2;  // for lanes along lines, too
  static constexpr int NEEDED = 32 / L * LINE;
};

template <class Line, int WARP = Cells<Line>::NEEDED>
struct Padded {
  static constexpr int L = Line::LANES, V = Line::V, P = Cells<Line>::P, AGAIN = Cells<Line>::AGAIN;
  static_assert(WARP >= Cells<Line>::NEEDED, "too few cells");
  float2 *cells, *store, *load, *again;

  __device__ explicit Padded(float2 *all, int line = Line::line())
      : cells(all + line / (32 / L) * WARP + line % (32 / L) * Cells<Line>::LINE) {
    const int l = Line::lane();
    store = cells + l;
    again = cells + l % V * P + l / V;
    load = cells + (Line::SHARE > 1 ? l % V : l) * P;
    if (Line::THRICE) load += l / V % V * AGAIN;
  }
  __device__ __forceinline__ float2 &middle(int i) const { return again[Line::SHARE * i]; }
  __device__ __forceinline__ float2 &put_again(int k) const { return again[AGAIN * k]; }
  __device__ __forceinline__ float2 &operator[](int j) const { return store[L * j]; }
  __device__ __forceinline__ float2 &at(int p) const { return cells[p]; }
  __device__ __forceinline__ float2 &put(int k) const { return store[k * P]; }
  __device__ __forceinline__ float2 &get(int a, int i) const {
    return load[Line::SHARE > 1 ? i + V * a : L * P * a + i];
  }
};

// A column whose upper half lies in one column of a tile of half the height, and its lower half in
// another: cells as InPlace has them.
template <class Line, int PITCH, bool SHARED>
struct InHalves {
  using Half = InPlace<Line, true, PITCH, Line::LANES, SHARED>;
  static constexpr int L = Line::LANES, V = Line::V;
  static constexpr bool WHOLE = Line::SHARE == 1 && L < V;  // whether what a lane gets is in one half
  Half upper, lower;
  typename Half::Address away;

  __device__ InHalves(float2 *tile, int one, int other)
      : upper(tile, one, place()), lower(tile, other, place()),
        away(Line::lane() % V < V / 2 ? upper.away : lower.away) {}

  // Which of a half's values this lane gets.
  static __device__ int place() { return WHOLE ? Line::lane() : Line::lane() % (V / 2); }

  __device__ __forceinline__ Cell operator[](int j) const {
    return j < V / 2 ? upper[j] : lower[j - V / 2];
  }
  __device__ __forceinline__ Cell at(int p) const {
    return p < Line::N / 2 ? upper.at(p) : lower.at(p - Line::N / 2);
  }
  __device__ __forceinline__ Cell put(int k) const { return (*this)[k]; }
  __device__ __forceinline__ Cell get(int a, int i) const {
    if constexpr (WHOLE)
      return a < V / L / 2 ? upper.get(a, i) : lower.get(a - V / L / 2, i);
    else
      return Half::got(away, a, i);
  }
};
