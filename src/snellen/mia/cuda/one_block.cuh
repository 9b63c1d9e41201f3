// Memory and transposition for one block per picture: `Tile`.
//
// Who holds what: all spectra are in one workspace, in shared memory, or in global memory without
// IN_SHARED. `full` has HEIGHT × WIDTH complex numbers (Z, later S), `half` HEIGHT / 2 × WIDTH (two
// real rows y and y + HEIGHT / 2 in one line: g, later R). Rows and columns are transformed in
// place, in the XOR-swizzled order of fft/layout.cuh, so that a transposition moves no data.
//
// Barriers: a transposition is one __syncthreads.
#pragma once
#include "fft/layout.cuh"
#include "mia/cuda/column_pair.cuh"

constexpr int PIXELS = HEIGHT * WIDTH;
constexpr int ROWS = HEIGHT, HALF_ROWS = HEIGHT / 2, PAIRS = WIDTH / 2;

// The lanes that end a transform are those that began it.
using RowEnd = RowLine;
using HalfRowEnd = HalfRowLine;
using ColumnEnd = ColumnLine;

struct Tile {
  static constexpr int TILE = HEIGHT * WIDTH * 3 / 2;
  // Concurrent columns keep Z in registers and are exchanged in padded memory of their warp.
  static constexpr int EXCHANGE = CONCURRENT ? THREADS / 32 * ExchangeSize<ColumnLine>::WARP : 0;
  using Row = InTile<RowLine, false, WIDTH, ColumnLine::LANES, IN_SHARED>;
  using Column = InTile<ColumnLine, true, WIDTH, ColumnLine::LANES, IN_SHARED>;
  float2 *full, *half, *exchange, *total;

  __device__ Tile(float2 *memory, float2 *total)
      : full(memory), half(memory + HEIGHT * WIDTH), exchange(memory + TILE), total(total) {}

  // Row, half row or pair of columns that is taken as number i.
  __device__ int row(int i) const { return conflict_free_line<RowLine>(i); }
  __device__ int half_row(int i) const { return conflict_free_line<RowLine>(i); }
  __device__ int column(int i) const { return CONCURRENT ? i : conflict_free_line<ColumnLine>(i); }

  // Where each pass reads (…_in), exchanges, and writes (to_…).
  __device__ Row rows_in(int y) const { return {full, y}; }
  __device__ Row row_exchange(int y) const { return {full, y}; }
  __device__ Row row_exchange_end(int y) const { return {full, y}; }
  __device__ Row to_columns(int y) const { return {full, y}; }
  __device__ Column columns_in(int x) const { return {full, x}; }
#if CONCURRENT
  __device__ PaddedExchange<ColumnLine> column_exchange(int) const {
    return PaddedExchange<ColumnLine>(exchange);
  }
  __device__ PaddedExchange<ColumnLine> column_exchange_end() const {
    return PaddedExchange<ColumnLine>(exchange);
  }
  static __device__ int column_end() { return ColumnLine::line(); }
#else
  __device__ Column column_exchange(int x) const { return {full, x}; }
  __device__ SplitColumn<ColumnLine, WIDTH, IN_SHARED> half_column_exchange(
      const Pair &pair) const {
    return {half, pair.x, pair.partner};
  }
#endif
  __device__ Column to_half_rows(int x) const { return {half, x}; }
  __device__ Row half_rows_in(int y) const { return {half, y}; }
  __device__ Row half_row_exchange(int y) const { return {half, y}; }
  __device__ Row half_row_exchange_end(int y) const { return {half, y}; }
  __device__ Row to_half_columns(int y) const { return {half, y}; }
  __device__ Column half_columns_in(int x) const { return {half, x}; }
  __device__ Column to_rows(int x) const { return {full, x}; }

  // Makes the sums of f and h, which the lanes of one column hold, known to all threads.
  __device__ void share_sums(float2 sums) const {
    if (ColumnLine::lane() == 0) *total = sums;
  }

  __device__ void start() const { __syncthreads(); }
  template <int TRANSPOSE>
  __device__ __forceinline__ void wait_transpose(int) const {
    __syncthreads();
  }
  // Data in global memory is visible after the next transposition, too: nothing is to be done.
  __device__ void cluster_arrive() const {}
  __device__ void cluster_wait() const {}
};
