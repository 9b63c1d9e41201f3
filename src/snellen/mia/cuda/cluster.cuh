// A cluster of blocks to a period, each with some rows and some pairs of columns in its shared memory.
//
// What a pass makes goes straight from registers to the blocks that need it (st.async), and a turn is
// done when all bytes that a block expects have come (an mbarrier): nobody waits for a whole cluster.
// A buffer is filled once an iteration, always after every block has read what it held: each of the
// four turns brings something from every block to every block, and in each pass a barrier of the block
// lies between what its threads read and what they send (wait_for).
#pragma once
#include "fft/layout.cuh"
#include "mia/cuda/column_pair.cuh"

constexpr int PIXELS = HEIGHT * WIDTH;
constexpr int ROWS = HEIGHT / CLUSTER, HALF_ROWS = ROWS / 2, PAIRS = WIDTH / 2 / CLUSTER;
static_assert(HALF_ROWS > 0 && PAIRS > 0, "the cluster is too large");

// The last lanes of a transform go along the lines of the block, so that half a warp sends 64 bytes end to
// end to one block, or more: with less the way takes twice as long.
constexpr int AT_ONCE = THREADS / Across::LANES;  // rows
using RowsOut = Line<WIDTH, WIDTH_VALUES, (ROWS < AT_ONCE ? ROWS : AT_ONCE)>;
constexpr int HALF_AT_ONCE = THREADS / Half::LANES;
using HalfRowsOut = Line<WIDTH, HALF_VALUES, (HALF_ROWS < HALF_AT_ONCE ? HALF_ROWS : HALF_AT_ONCE)>;
using ColumnsOut = Line<HEIGHT, HEIGHT_VALUES, 2 * PAIRS>;

// What has come lies by the blocks that sent it. Columns came by rows: from each block all columns, and in
// these its rows end to end. Rows came by columns: from each block all rows, and in these the first columns
// of its pairs end to end, and then the second. Some cells are left free between blocks, for the lanes that
// read along a line to meet in few banks.
constexpr int COLUMNS_OF = 2 * PAIRS * ROWS + ROWS, HALF_COLUMNS_OF = 2 * PAIRS * HALF_ROWS + HALF_ROWS;
constexpr int ROWS_OF = 2 * PAIRS * ROWS + PAIRS, HALF_ROWS_OF = 2 * PAIRS * HALF_ROWS + PAIRS;

// Cells of a warp's exchange. Passes along rows and along columns have one each: before its cells are written
// again there is a barrier of the block, in the pass between.
__device__ constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int OF_ROWS = larger(Cells<Across>::NEEDED, Cells<Half>::NEEDED);
constexpr int OF_COLUMNS = Cells<Down>::NEEDED;

__device__ __forceinline__ int block_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// A cell in the shared memory of another block, whose barrier counts the bytes that come.
struct Far {
  uint32_t cell, barrier;
  int block;

  __device__ __forceinline__ uint32_t there(uint32_t address) const {
    uint32_t far;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(address), "r"(block));
    return far;
  }
  __device__ __forceinline__ void operator=(float2 v) const {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
            "r"(there(cell)), "f"(v.x), "f"(v.y), "r"(there(barrier)) : "memory");
  }
};

// Which pair of columns has column x, and which of the columns of its block that is.
__device__ __forceinline__ int pair_of(int x) { return x < WIDTH / 2 ? x : (WIDTH - x) % (WIDTH / 2); }
__device__ __forceinline__ int slot_of(int x) {
  return pair_of(x) % PAIRS + (x < WIDTH / 2 ? 0 : PAIRS);
}

// A column that has come, EACH rows from a block.
template <int EACH, int OF>
struct Column {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const {
    const int y = Down::position(j);
    return cells[y / EACH * OF + y % EACH];
  }
};

// A row that has come.
template <class Line, int OF>
struct Row {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const {
    const int x = Line::position(j);
    return cells[pair_of(x) / PAIRS * OF + slot_of(x)];
  }
};

// Where a row goes: to the blocks that have its columns, EACH cells to a column.
template <class Out, int EACH>
struct ToColumns {
  uint32_t cells, barrier;

  __device__ __forceinline__ Far operator[](int j) const {
    const int x = Out::position(j);
    return {cells + 8 * EACH * slot_of(x), barrier, pair_of(x) / PAIRS};
  }
};

// Where a column goes: to the blocks that have its rows, EACH to a block.
template <int EACH>
struct ToRows {
  uint32_t cells, barrier;

  __device__ __forceinline__ Far operator[](int j) const {
    const int y = ColumnsOut::position(j);
    return {cells + 8 * 2 * PAIRS * (y % EACH), barrier, y / EACH};
  }
};

struct Tile {
  static constexpr int TILE = CLUSTER * (COLUMNS_OF + HALF_COLUMNS_OF + ROWS_OF + HALF_ROWS_OF);
  static constexpr int EXCHANGE = THREADS / 32 * (OF_ROWS + OF_COLUMNS);
  float2 *rows, *half_rows, *columns, *half_columns, *by_rows, *by_columns;  // and exchanges
  float2 *total;
  uint64_t *barriers;  // of the four turns
  int rank;

  __device__ Tile(float2 *memory, float2 *total)
      : rows(memory), half_rows(rows + CLUSTER * ROWS_OF),
        columns(half_rows + CLUSTER * HALF_ROWS_OF), half_columns(columns + CLUSTER * COLUMNS_OF),
        by_rows(half_columns + CLUSTER * HALF_COLUMNS_OF), by_columns(by_rows + THREADS / 32 * OF_ROWS),
        total(total), barriers(reinterpret_cast<uint64_t *>(total + 1)), rank(block_rank()) {}

  __device__ int row(int i) const { return rank * ROWS + i; }
  __device__ int half_row(int i) const { return rank * HALF_ROWS + i; }
  __device__ int column(int i) const { return rank * PAIRS + i; }

  __device__ Row<Across, ROWS_OF> rows_in(int y) const { return {rows + y % ROWS * 2 * PAIRS}; }
  __device__ Padded<Across, OF_ROWS> rows_exchange(int) const {
    return Padded<Across, OF_ROWS>(by_rows);
  }
  __device__ Padded<RowsOut, OF_ROWS> rows_handed(int) const {
    return Padded<RowsOut, OF_ROWS>(by_rows);
  }
  __device__ ToColumns<RowsOut, ROWS> to_columns(int y) const {
    return {shared_address(columns + rank * COLUMNS_OF + y % ROWS), shared_address(barriers)};
  }
  __device__ Column<ROWS, COLUMNS_OF> columns_in(int x) const {
    return {columns + slot_of(x) * ROWS};
  }
  __device__ Padded<Down, OF_COLUMNS> columns_exchange(int) const {
    return Padded<Down, OF_COLUMNS>(by_columns);
  }
  __device__ Padded<ColumnsOut, OF_COLUMNS> columns_handed() const {
    return Padded<ColumnsOut, OF_COLUMNS>(by_columns, column_out());
  }
  static __device__ int column_out() {  // side by side, pairs are 0, 1; 2, 3; …
    return ColumnsOut::line() % PAIRS * 2 + ColumnsOut::line() / PAIRS;
  }
  __device__ ToRows<HALF_ROWS> to_half_rows(int x) const {
    return {shared_address(half_rows + rank * HALF_ROWS_OF + slot_of(x)),
            shared_address(barriers + 1)};
  }
  __device__ Row<Half, HALF_ROWS_OF> half_rows_in(int y) const {
    return {half_rows + y % HALF_ROWS * 2 * PAIRS};
  }
  __device__ Padded<Half, OF_ROWS> half_rows_exchange(int) const {
    return Padded<Half, OF_ROWS>(by_rows);
  }
  __device__ Padded<HalfRowsOut, OF_ROWS> half_rows_handed(int) const {
    return Padded<HalfRowsOut, OF_ROWS>(by_rows);
  }
  __device__ ToColumns<HalfRowsOut, HALF_ROWS> to_half_columns(int y) const {
    return {shared_address(half_columns + rank * HALF_COLUMNS_OF + y % HALF_ROWS),
            shared_address(barriers + 2)};
  }
  __device__ Column<HALF_ROWS, HALF_COLUMNS_OF> half_columns_in(int x) const {
    return {half_columns + slot_of(x) * HALF_ROWS};
  }
  __device__ ToRows<ROWS> to_rows(int x) const {
    return {shared_address(rows + rank * ROWS_OF + slot_of(x)), shared_address(barriers + 3)};
  }

  // The sums of f and h, from the lanes of one line to every block; they come with turn 1.
  __device__ void tell(float2 sums) const {
    for (int block = Down::lane(); block < CLUSTER; block += Down::LANES)
      Far{shared_address(total), shared_address(barriers + 1), block} = sums;
  }

  __device__ void begin() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < 4; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + i))
                     : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      expect<0>(), expect<1>(), expect<2>(), expect<3>();
    }
    written(), seen();
    __syncthreads();
  }

  // Waits for what the others send in this turn, of an iteration.
  template <int TURN>
  __device__ __forceinline__ void turn(int iteration) const {
    asm volatile(
        "{.reg .pred come; again: "
        "mbarrier.try_wait.parity.shared::cta.b64 come, [%0], %1; @!come bra again;}" ::"r"(
            shared_address(barriers + TURN)), "r"(iteration & 1) : "memory");
    __syncwarp();  // lanes may have left one by one
    if (threadIdx.x == 0) expect<TURN>();  // of the next iteration
  }

  // What went to global memory before `written` can be read after `seen` by the whole cluster.
  __device__ void written() const {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  }
  __device__ void seen() const { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

 private:
  template <int TURN>
  __device__ void expect() const {
    constexpr int bytes = TURN == 0   ? PIXELS / CLUSTER * 8
                          : TURN == 1 ? PIXELS / CLUSTER * 4 + 8
                          : TURN == 2 ? PIXELS / CLUSTER * 4
                                      : PIXELS / CLUSTER * 8;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barriers + TURN)), "n"(bytes) : "memory");
  }
};
