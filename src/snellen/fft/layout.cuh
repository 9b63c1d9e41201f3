// Data layouts for the lines of small.cuh: a line lies in a row or column of a tile in shared or
// global memory (InTile, SplitColumn), or is exchanged through memory of its warp (PaddedExchange).
//
// The tile is stored with an XOR swizzle so that the cells which a half-warp accesses at once with
// 64-bit accesses lie in different banks: for rows, for columns whose lines are chosen by
// `conflict_free_line`, and in PaddedExchange. Neighbouring columns (as SplitColumn has them) may
// meet in a bank two or three at a time.
//
// Barriers: these types contain none. Those of Line::transform suffice for a line that only its own
// warp touches; between a pass along rows and a pass along columns the caller synchronises the
// block.
#pragma once
#include "fft/small.cuh"
#include "gpu/device.cuh"

// The complex number at an address. A call, not a plain *at: the compiler then chooses between two
// cells by their addresses, which the columns of one_block.cuh were measured with.
__device__ __forceinline__ float2 &cell(float2 *at) { return *at; }

// Addresses of a tile in shared memory have 32 bits. All cells of a line follow from one address by
// an XOR and an addition of constants.
template <bool SHARED>
struct Memory {
  using Address = uint32_t;
  static __device__ Address address(const float2 *p) { return shared_address(p); }
  static __device__ float2 *at(Address a) {
    return static_cast<float2 *>(__cvta_shared_to_generic(a));
  }
};

// A tile in global memory.
template <>
struct Memory<false> {
  using Address = size_t;
  static __device__ Address address(const float2 *p) { return reinterpret_cast<Address>(p); }
  static __device__ float2 *at(Address a) { return reinterpret_cast<float2 *>(a); }
};

// Permutes the bits of k modulo SIZE, so that lines which a half-warp holds at once differ in bank.
template <int SIZE>
__device__ constexpr int permuted(int k) {
  k &= SIZE - 1;
  return SIZE == 4 ? (k ^ k << 1) & 3 : SIZE == 8 ? (k << 1 | k >> 2) & 7 : k;
}

// The XOR swizzle of a tile: cell (y, x) lies at y · PITCH + (x ^ swizzle<COLUMN_LANES>(y)). Lanes
// along x then access different banks, and so do lanes along y, whether they are neighbours or, in
// the reads of the exchange, COLUMN_LANES apart. COLUMN_LANES is the number of lanes of a column.
template <int COLUMN_LANES>
__device__ constexpr int swizzle(int y) {
  return (y & 15) ^ permuted<COLUMN_LANES>(y / COLUMN_LANES);
}

// A line that is exchanged where it lies: in row `line` of a tile, or in column `line` with COLUMN.
// The tile begins at a multiple of 128 bytes. Value k that lane l exchanges lies at k · LANES + l;
// in a row, l is replaced by l ^ exchange_swizzle(k). Lane k reads along l.
template <class Line, bool COLUMN, int PITCH, int COLUMN_LANES, bool SHARED = true>
struct InTile {
  using Where = Memory<SHARED>;
  using Address = typename Where::Address;
  static constexpr int L = Line::LANES;
  static_assert(L <= 16 && PITCH % 16 == 0 && (!COLUMN || COLUMN_LANES == L),
                "this line does not fit the swizzle of the tile");
  float2 *tile;
  int line;
  Address own, load;  // of sample `lane`, and of the first value that this lane loads

  __device__ InTile(float2 *tile, int line)
      : InTile(tile, line, Line::SUB_LANES > 1 ? Line::lane() % Line::V : Line::lane()) {}

  // With the index of the value that this lane loads of all others.
  __device__ InTile(float2 *tile, int line, int loaded) : tile(tile), line(line) {
    const int l = Line::lane(), block = L * loaded, mixed = block & 15 ^ exchange_swizzle(loaded);
    own = Where::address(COLUMN ? tile + l * PITCH + (line ^ swizzle<COLUMN_LANES>(l))
                                : tile + line * PITCH + (l ^ swizzle<COLUMN_LANES>(line)));
    load = Where::address(COLUMN ? tile + block * PITCH + (line ^ swizzle<COLUMN_LANES>(block))
                                 : tile + line * PITCH + (block & ~15) +
                                       (mixed ^ swizzle<COLUMN_LANES>(line)));
  }

  // What a lane's index in a row is XORed with, for value k of the exchange.
  static __device__ constexpr int exchange_swizzle(int k) {
    return L == 4 ? (k << 1 & 2) | (k >> 1 & 1) : k & (L - 1);
  }

  // The cell of this lane's value j.
  __device__ __forceinline__ float2 &operator[](int j) const {
    return COLUMN ? moved(own, swizzle<COLUMN_LANES>(L * j), L * j * PITCH)
                  : moved(own, L * j & 15, L * j & ~15);
  }
  // The cell of position p of the line.
  __device__ __forceinline__ float2 &at(int p) const {
    return cell(tile + (COLUMN ? p * PITCH + (line ^ swizzle<COLUMN_LANES>(p))
                               : line * PITCH + (p ^ swizzle<COLUMN_LANES>(line))));
  }
  __device__ __forceinline__ float2 &exchange_store(int k) const {
    return COLUMN ? (*this)[k] : moved(own, L * k & 15 ^ exchange_swizzle(k), L * k & ~15);
  }
  __device__ __forceinline__ float2 &exchange_load(int a, int i) const {
    return loaded_from(load, a, i);
  }

  static __device__ __forceinline__ float2 &loaded_from(Address load, int a, int i) {
    const int along = Line::SUB_LANES > 1 ? i + Line::V * a : i;
    const int beyond = Line::SUB_LANES > 1 ? 0 : L * L * a;
    return COLUMN ? moved(load, swizzle<COLUMN_LANES>(along), (along + beyond) * PITCH)
                  : moved(load, along, beyond);
  }

 private:
  // The cell `mask` in XOR distance (of the lowest 16 cells) and `by` cells after an address.
  static __device__ __forceinline__ float2 &moved(Address from, int mask, int by) {
    return cell(Where::at((from ^ 8 * mask) + 8 * by));
  }
};

// Returns the line that a pass takes as number i, such that the two or four lines which a half-warp
// holds at once lie LANES apart and none of their cells share a bank.
template <class Line>
__device__ __forceinline__ int conflict_free_line(int i) {
  constexpr int L = Line::LANES, M = L < 16 ? 16 / L : 1;
  const int s = i % M, rest = i / M;
  return M == 1 ? i : rest % L + L * s + 16 * (rest / L);
}

// Complex numbers that the exchange of a warp needs in memory of its own, with padding.
template <class Line>
struct ExchangeSize {
  static constexpr int L = Line::LANES, V = Line::V;
  static constexpr int SECOND = Line::SUB_LANES + 1;  // stride of the values of the middle exchange
  static constexpr int STRIDE = Line::THREE_STEPS ? V * SECOND : L + 1;  // of the V values
  // Of one line. 2 more than a multiple of 16 serves lanes that go along lines, too.
  static constexpr int LINE = L < 16 ? V * STRIDE : (V * STRIDE + 13) / 16 * 16 + 2;
  static constexpr int WARP = 32 / L * LINE;
};

// An exchange through memory of the warp, WARP complex numbers for each: values lie a padded stride
// apart, so that addresses need no arithmetic.
template <class Line, int WARP = ExchangeSize<Line>::WARP>
struct PaddedExchange {
  using Size = ExchangeSize<Line>;
  static constexpr int L = Line::LANES, V = Line::V, STRIDE = Size::STRIDE, SECOND = Size::SECOND;
  static_assert(WARP >= Size::WARP, "the exchange memory of a warp is too small");
  float2 *cells, *store, *load, *second;

  __device__ explicit PaddedExchange(float2 *all, int line = Line::line())
      : cells(all + line / (32 / L) * WARP + line % (32 / L) * Size::LINE) {
    const int l = Line::lane();
    store = cells + l;
    second = cells + l % V * STRIDE + l / V;
    load = cells + (Line::SUB_LANES > 1 ? l % V : l) * STRIDE;
    if (Line::THREE_STEPS) load += l / V % V * SECOND;
  }
  __device__ __forceinline__ float2 &second_load(int i) const {
    return second[Line::SUB_LANES * i];
  }
  __device__ __forceinline__ float2 &second_store(int k) const { return second[SECOND * k]; }
  __device__ __forceinline__ float2 &operator[](int j) const { return store[L * j]; }
  __device__ __forceinline__ float2 &at(int p) const { return cells[p]; }
  __device__ __forceinline__ float2 &exchange_store(int k) const { return store[k * STRIDE]; }
  __device__ __forceinline__ float2 &exchange_load(int a, int i) const {
    return load[Line::SUB_LANES > 1 ? i + V * a : L * STRIDE * a + i];
  }
};

// A column whose upper half lies in column `one` of a tile of half the height and whose lower half
// lies in column `other` of it, each as InTile has it.
template <class Line, int PITCH, bool SHARED>
struct SplitColumn {
  using Half = InTile<Line, true, PITCH, Line::LANES, SHARED>;
  static constexpr int L = Line::LANES, V = Line::V;
  // Whether all values that a lane loads lie in one half.
  static constexpr bool WITHIN_HALF = Line::SUB_LANES == 1 && L < V;
  Half upper, lower;
  typename Half::Address load;

  __device__ SplitColumn(float2 *tile, int one, int other)
      : upper(tile, one, loaded()),
        lower(tile, other, loaded()),
        load(Line::lane() % V < V / 2 ? upper.load : lower.load) {}

  // The index, within a half, of the value that this lane loads.
  static __device__ int loaded() { return WITHIN_HALF ? Line::lane() : Line::lane() % (V / 2); }

  __device__ __forceinline__ float2 &operator[](int j) const {
    return j < V / 2 ? upper[j] : lower[j - V / 2];
  }
  __device__ __forceinline__ float2 &at(int p) const {
    return p < Line::N / 2 ? upper.at(p) : lower.at(p - Line::N / 2);
  }
  __device__ __forceinline__ float2 &exchange_store(int k) const { return (*this)[k]; }
  __device__ __forceinline__ float2 &exchange_load(int a, int i) const {
    if constexpr (WITHIN_HALF)
      return a < V / L / 2 ? upper.exchange_load(a, i) : lower.exchange_load(a - V / L / 2, i);
    else
      return Half::loaded_from(load, a, i);
  }
};
