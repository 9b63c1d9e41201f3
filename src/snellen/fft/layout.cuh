// Where lines lie: in a row or column of a tile, or in memory of their warp.
//
// Two lanes of a half-warp never meet in one bank, with 64-bit accesses: of rows, of columns whose lines are
// `spaced`, and in the exchange of a warp. In columns side by side and in halves two may, three at most.
#pragma once
#include "fft/small.cuh"

#ifndef WIDE
#define WIDE 1
#endif

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
