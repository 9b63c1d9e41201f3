// One block to a period: spectra stay in one tile, and a turn is a barrier of the block.
//
// `whole` has HEIGHT × WIDTH cells, `half` HEIGHT / 2 × WIDTH, in shared memory, or in global memory
// where a multiprocessor has too little. Rows and columns are transformed where they lie.
#pragma once
#include "fft/layout.cuh"
#include "mia/cuda/column_pair.cuh"

constexpr int PIXELS = HEIGHT * WIDTH;
constexpr int ROWS = HEIGHT, HALF_ROWS = HEIGHT / 2, PAIRS = WIDTH / 2;

constexpr int OF_WARP = Cells<Down>::NEEDED;  // cells of a warp's exchange

using RowsOut = Across;  // the lanes that end a transform are those that began it
using HalfRowsOut = Half;
using ColumnsOut = Down;

struct Tile {
  static constexpr int TILE = HEIGHT * WIDTH * 3 / 2;
  static constexpr int EXCHANGE = BESIDE ? THREADS / 32 * OF_WARP : 0;
  using Row = InPlace<Across, false, WIDTH, Down::LANES, RESIDENT>;
  using Column = InPlace<Down, true, WIDTH, Down::LANES, RESIDENT>;
  float2 *whole, *half, *exchange, *total;

  __device__ Tile(float2 *memory, float2 *total)
      : whole(memory), half(memory + HEIGHT * WIDTH), exchange(memory + TILE),
        total(total) {}

  __device__ int row(int i) const { return spaced<Across>(i); }
  __device__ int half_row(int i) const { return spaced<Across>(i); }
  __device__ int column(int i) const { return BESIDE ? i : spaced<Down>(i); }

  __device__ Row rows_in(int y) const { return {whole, y}; }
  __device__ Row rows_exchange(int y) const { return {whole, y}; }
  __device__ Row rows_handed(int y) const { return {whole, y}; }
  __device__ Row to_columns(int y) const { return {whole, y}; }
  __device__ Column columns_in(int x) const { return {whole, x}; }
#if BESIDE
  __device__ Padded<Down> columns_exchange(int) const { return Padded<Down>(exchange); }
  __device__ Padded<Down> columns_handed() const { return Padded<Down>(exchange); }
  static __device__ int column_out() { return Down::line(); }
#else
  __device__ Column columns_exchange(int x) const { return {whole, x}; }
  __device__ InHalves<Down, WIDTH, RESIDENT> half_columns_exchange(const Pair &pair) const {
    return {half, pair.x, pair.partner};
  }
#endif
  __device__ Column to_half_rows(int x) const { return {half, x}; }
  __device__ Row half_rows_in(int y) const { return {half, y}; }
  __device__ Row half_rows_exchange(int y) const { return {half, y}; }
  __device__ Row half_rows_handed(int y) const { return {half, y}; }
  __device__ Row to_half_columns(int y) const { return {half, y}; }
  __device__ Column half_columns_in(int x) const { return {half, x}; }
  __device__ Column to_rows(int x) const { return {whole, x}; }

  // The sums of f and h, from the lanes of one line to all.
  __device__ void tell(float2 sums) const {
    if (Down::lane() == 0) *total = sums;
  }

  __device__ void begin() const { __syncthreads(); }
  template <int TURN>
  __device__ __forceinline__ void turn(int) const { __syncthreads(); }
  __device__ void written() const {}  // what goes to global memory, too, is there after a turn
  __device__ void seen() const {}
};
