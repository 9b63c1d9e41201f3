// Memory and transposition for a cluster of blocks per picture: `Tile`.
//
// Who holds what: block r owns ROWS rows, HALF_ROWS half rows and PAIRS pairs of columns, from
// index r · ROWS, r · HALF_ROWS and r · PAIRS on, in its shared memory. A pass stores its results
// directly from registers into the shared memory of the blocks that need them (st.async), so a
// transposition is an all-to-all exchange between the blocks.
//
// Barriers: each of the four transpositions of a step has an mbarrier in every block, which counts
// the bytes that arrive: a block waits for its own data only, never for the whole cluster. A buffer
// is filled once per step, always after its block has read the former content: each of the four
// transpositions brings data from every block to every block, and in each pass a block barrier
// (exchange_barrier) lies between the reads of its threads and their remote stores.
#pragma once
#include "fft/layout.cuh"
#include "mia/cuda/column_pair.cuh"

constexpr int PIXELS = HEIGHT * WIDTH;
constexpr int ROWS = HEIGHT / CLUSTER, HALF_ROWS = ROWS / 2, PAIRS = WIDTH / 2 / CLUSTER;
static_assert(HALF_ROWS > 0 && PAIRS > 0, "the cluster has more blocks than half rows or pairs");

// The lanes that end a transform interleave the lines of the block, so that a half-warp stores 64
// or more contiguous bytes to one block: the exchange takes twice as long with shorter runs.
constexpr int ROWS_AT_ONCE = THREADS / RowLine::LANES;
using RowEnd = Line<WIDTH, ROW_VALUES, (ROWS < ROWS_AT_ONCE ? ROWS : ROWS_AT_ONCE)>;
constexpr int HALF_ROWS_AT_ONCE = THREADS / HalfRowLine::LANES;
using HalfRowEnd =
    Line<WIDTH, HALF_ROW_VALUES, (HALF_ROWS < HALF_ROWS_AT_ONCE ? HALF_ROWS : HALF_ROWS_AT_ONCE)>;
using ColumnEnd = Line<HEIGHT, COLUMN_VALUES, 2 * PAIRS>;

// Received data is ordered by the sending block. Columns arrive from rows: each block sends a part
// of all columns, for each column its rows contiguously. Rows arrive from columns: each block sends
// a part of all rows, for each row the first columns of its pairs contiguously, then the second
// ones. Padding between the parts reduces bank conflicts of lanes that read along a line. Sizes in
// complex numbers:
constexpr int COLUMNS_PART = 2 * PAIRS * ROWS + ROWS;
constexpr int HALF_COLUMNS_PART = 2 * PAIRS * HALF_ROWS + HALF_ROWS;
constexpr int ROWS_PART = 2 * PAIRS * ROWS + PAIRS;
constexpr int HALF_ROWS_PART = 2 * PAIRS * HALF_ROWS + PAIRS;

// Exchange memory of a warp. Passes along rows and passes along columns have their own: between two
// uses of either lies the block barrier of the pass between.
__device__ constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int ROW_EXCHANGE = larger(ExchangeSize<RowLine>::WARP, ExchangeSize<HalfRowLine>::WARP);
constexpr int COLUMN_EXCHANGE = ExchangeSize<ColumnLine>::WARP;

__device__ __forceinline__ int block_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// A complex number in the shared memory of a block of the cluster, and the mbarrier there that
// counts its bytes.
struct RemoteCell {
  uint32_t cell, barrier;
  int block;

  __device__ __forceinline__ uint32_t mapped(uint32_t address) const {
    uint32_t remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
    return remote;
  }
  __device__ __forceinline__ void operator=(float2 v) const {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
            "r"(mapped(cell)),
        "f"(v.x), "f"(v.y), "r"(mapped(barrier))
        : "memory");
  }
};

// Returns the pair that column x belongs to, and the index of the column among those of its block.
__device__ __forceinline__ int pair_of(int x) {
  return x < WIDTH / 2 ? x : (WIDTH - x) % (WIDTH / 2);
}
__device__ __forceinline__ int slot_of(int x) {
  return pair_of(x) % PAIRS + (x < WIDTH / 2 ? 0 : PAIRS);
}

// A received column: EACH rows in each part of PART complex numbers.
template <int EACH, int PART>
struct Column {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const {
    const int y = ColumnLine::position(j);
    return cells[y / EACH * PART + y % EACH];
  }
};

// A received row.
template <class Line, int PART>
struct Row {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const {
    const int x = Line::position(j);
    return cells[pair_of(x) / PAIRS * PART + slot_of(x)];
  }
};

// The destination of a row: the blocks that own its columns, EACH complex numbers to a column.
template <class End, int EACH>
struct ToColumns {
  uint32_t cells, barrier;

  __device__ __forceinline__ RemoteCell operator[](int j) const {
    const int x = End::position(j);
    return {cells + 8 * EACH * slot_of(x), barrier, pair_of(x) / PAIRS};
  }
};

// The destination of a column: the blocks that own its rows, EACH to a block.
template <int EACH>
struct ToRows {
  uint32_t cells, barrier;

  __device__ __forceinline__ RemoteCell operator[](int j) const {
    const int y = ColumnEnd::position(j);
    return {cells + 8 * 2 * PAIRS * (y % EACH), barrier, y / EACH};
  }
};

struct Tile {
  static constexpr int TILE =
      CLUSTER * (COLUMNS_PART + HALF_COLUMNS_PART + ROWS_PART + HALF_ROWS_PART);
  static constexpr int EXCHANGE = THREADS / 32 * (ROW_EXCHANGE + COLUMN_EXCHANGE);
  float2 *rows, *half_rows, *columns, *half_columns;  // what this block receives
  float2 *row_memory, *column_memory;                 // exchange memory of its warps
  float2 *total;                                      // the sums of f and h
  uint64_t *barriers;                                 // of the four transpositions
  int rank;

  __device__ Tile(float2 *memory, float2 *total)
      : rows(memory),
        half_rows(rows + CLUSTER * ROWS_PART),
        columns(half_rows + CLUSTER * HALF_ROWS_PART),
        half_columns(columns + CLUSTER * COLUMNS_PART),
        row_memory(half_columns + CLUSTER * HALF_COLUMNS_PART),
        column_memory(row_memory + THREADS / 32 * ROW_EXCHANGE),
        total(total),
        barriers(reinterpret_cast<uint64_t *>(total + 1)),
        rank(block_rank()) {}

  // Row, half row or pair of columns that is taken as number i.
  __device__ int row(int i) const { return rank * ROWS + i; }
  __device__ int half_row(int i) const { return rank * HALF_ROWS + i; }
  __device__ int column(int i) const { return rank * PAIRS + i; }

  // Where each pass reads (…_in), exchanges, and sends (to_…).
  __device__ Row<RowLine, ROWS_PART> rows_in(int y) const { return {rows + y % ROWS * 2 * PAIRS}; }
  __device__ PaddedExchange<RowLine, ROW_EXCHANGE> row_exchange(int) const {
    return PaddedExchange<RowLine, ROW_EXCHANGE>(row_memory);
  }
  __device__ PaddedExchange<RowEnd, ROW_EXCHANGE> row_exchange_end(int) const {
    return PaddedExchange<RowEnd, ROW_EXCHANGE>(row_memory);
  }
  __device__ ToColumns<RowEnd, ROWS> to_columns(int y) const {
    return {shared_address(columns + rank * COLUMNS_PART + y % ROWS), shared_address(barriers)};
  }
  __device__ Column<ROWS, COLUMNS_PART> columns_in(int x) const {
    return {columns + slot_of(x) * ROWS};
  }
  __device__ PaddedExchange<ColumnLine, COLUMN_EXCHANGE> column_exchange(int) const {
    return PaddedExchange<ColumnLine, COLUMN_EXCHANGE>(column_memory);
  }
  __device__ PaddedExchange<ColumnEnd, COLUMN_EXCHANGE> column_exchange_end() const {
    return PaddedExchange<ColumnEnd, COLUMN_EXCHANGE>(column_memory, column_end());
  }
  // The column, as number among all concurrent ones, that this thread ends: those begun by
  // neighbouring lanes are the two of a pair, 0 and 1, 2 and 3 ….
  static __device__ int column_end() {
    return ColumnEnd::line() % PAIRS * 2 + ColumnEnd::line() / PAIRS;
  }
  __device__ ToRows<HALF_ROWS> to_half_rows(int x) const {
    return {shared_address(half_rows + rank * HALF_ROWS_PART + slot_of(x)),
            shared_address(barriers + 1)};
  }
  __device__ Row<HalfRowLine, HALF_ROWS_PART> half_rows_in(int y) const {
    return {half_rows + y % HALF_ROWS * 2 * PAIRS};
  }
  __device__ PaddedExchange<HalfRowLine, ROW_EXCHANGE> half_row_exchange(int) const {
    return PaddedExchange<HalfRowLine, ROW_EXCHANGE>(row_memory);
  }
  __device__ PaddedExchange<HalfRowEnd, ROW_EXCHANGE> half_row_exchange_end(int) const {
    return PaddedExchange<HalfRowEnd, ROW_EXCHANGE>(row_memory);
  }
  __device__ ToColumns<HalfRowEnd, HALF_ROWS> to_half_columns(int y) const {
    return {shared_address(half_columns + rank * HALF_COLUMNS_PART + y % HALF_ROWS),
            shared_address(barriers + 2)};
  }
  __device__ Column<HALF_ROWS, HALF_COLUMNS_PART> half_columns_in(int x) const {
    return {half_columns + slot_of(x) * HALF_ROWS};
  }
  __device__ ToRows<ROWS> to_rows(int x) const {
    return {shared_address(rows + rank * ROWS_PART + slot_of(x)), shared_address(barriers + 3)};
  }

  // Sends the sums of f and h, which the lanes of one column hold, to every block. They arrive with
  // transposition 1.
  __device__ void share_sums(float2 sums) const {
    for (int block = ColumnLine::lane(); block < CLUSTER; block += ColumnLine::LANES)
      RemoteCell{shared_address(total), shared_address(barriers + 1), block} = sums;
  }

  // Initialises the mbarriers, before any block of the cluster sends.
  __device__ void start() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < 4; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + i))
                     : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      expect<0>(), expect<1>(), expect<2>(), expect<3>();
    }
    cluster_arrive(), cluster_wait();
    __syncthreads();
  }

  // Waits until all bytes of a transposition of this step have arrived in this block. The acquire
  // is of CTA scope: one of cluster scope would invalidate the L1 cache.
  template <int TRANSPOSE>
  __device__ __forceinline__ void wait_transpose(int step) const {
    asm volatile(
        "{.reg .pred come; again: "
        "mbarrier.try_wait.parity.shared::cta.b64 come, [%0], %1; @!come bra again;}" ::"r"(
            shared_address(barriers + TRANSPOSE)),
        "r"(step & 1)
        : "memory");
    __syncwarp();                               // lanes may have left the loop one by one
    if (threadIdx.x == 0) expect<TRANSPOSE>();  // of the next step
  }

  // What the cluster stores to global memory before `cluster_arrive` is visible to all of its
  // blocks after `cluster_wait`.
  __device__ void cluster_arrive() const {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  }
  __device__ void cluster_wait() const {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }

 private:
  // Arms an mbarrier with the bytes that arrive in this block.
  template <int TRANSPOSE>
  __device__ void expect() const {
    constexpr int bytes = TRANSPOSE == 0   ? PIXELS / CLUSTER * 8
                          : TRANSPOSE == 1 ? PIXELS / CLUSTER * 4 + 8
                          : TRANSPOSE == 2 ? PIXELS / CLUSTER * 4
                                           : PIXELS / CLUSTER * 8;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barriers + TRANSPOSE)),
                 "n"(bytes)
                 : "memory");
  }
};
