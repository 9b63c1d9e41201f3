// A cluster of blocks to a period, each with some rows and some pairs of columns in its shared memory.
//
// What a pass makes goes straight from registers to the blocks that need it (st.async), and a turn is
// done when all bytes that a block expects have come (an mbarrier): nobody waits for a whole cluster.
// A buffer is filled once an iteration, always after every block has read what it held: each of the
// four turns brings something from every block to every block.
#pragma once
#include "fft/small.cuh"
#include "mia/cuda/pair.cuh"

constexpr int PIXELS = HEIGHT * WIDTH;
constexpr int ROWS = HEIGHT / CLUSTER, HALF_ROWS = ROWS / 2, PAIRS = WIDTH / 2 / CLUSTER;
static_assert(HALF_ROWS > 0 && PAIRS > 0, "the cluster is too large");

// What a block gets from half a warp in one instruction is 64 bytes end to end, or more: with less the
// way takes twice as long. So buffers lie as the lanes that fill them do, and are padded so that the
// lanes that read them meet in as few banks as can be:
// rows: the cells of a column end to end;
constexpr int ROW = ROWS | 1;
// columns: rows y and y + 1 together, in these a pair's first column, and MIRROR cells on its second;
constexpr int MIRROR = (2 * PAIRS + 7) / 16 * 16 + 8, COLUMN = (MIRROR + 2 * PAIRS + 13) / 16 * 16 + 2;
// half rows: the pairs of columns of a block together, in these a row's two cells.
constexpr int PAIR = HALF_ROWS % 8 ? 2 * HALF_ROWS : 2 * HALF_ROWS + 2;
constexpr int SENDER = PAIRS * PAIR + (PAIRS < 8 ? 4 : 0);

// Cells of a warp's exchange, of rows as of columns: warps that are in different passes do not meet.
constexpr int OF_WARP =
    Cells<Across>::NEEDED > Cells<Down>::NEEDED ? Cells<Across>::NEEDED : Cells<Down>::NEEDED;

__device__ __forceinline__ int block_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ uint32_t shared_address(const void *p) {
  return uint32_t(__cvta_generic_to_shared(p));
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

// A column in a buffer that has come by rows.
struct Column {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const {
    return cells[Down::LANES / 2 * j * COLUMN];
  }
};

// A row in a buffer that has come by columns.
struct Row {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const { return cells[Across::LANES * j * ROW]; }
};

// Which pair of columns has column x, and whether it is the second of it.
__device__ __forceinline__ int pair_of(int x) { return x < WIDTH / 2 ? x : (WIDTH - x) % (WIDTH / 2); }
__device__ __forceinline__ int half_row_cell(int x) {
  const int pair = pair_of(x);
  return pair / PAIRS * SENDER + pair % PAIRS * PAIR + (x >= WIDTH / 2);
}
__device__ __forceinline__ int column_cell(int x) {
  return 2 * (pair_of(x) % PAIRS) + (x < WIDTH / 2 ? 0 : MIRROR);
}

// A row of the half tile, in a buffer that has come by pairs of columns.
struct HalfRow {
  float2 *cells;
  __device__ __forceinline__ float2 &operator[](int j) const {
    return cells[half_row_cell(Across::position(j))];
  }
};

// Where a row goes: to the blocks that have its columns.
struct ToColumns {
  uint32_t cells, barrier;

  __device__ __forceinline__ Far operator[](int j) const {
    const int x = Across::position(j);
    return {cells + 8 * column_cell(x), barrier, pair_of(x) / PAIRS};
  }
};

// Where a column goes: to the blocks that have its rows, EACH to a block.
template <int EACH, int STEP>
struct ToRows {
  uint32_t cells, barrier;

  __device__ __forceinline__ Far operator[](int j) const {
    const int y = Down::position(j);
    return {cells + 8 * STEP * (y % EACH), barrier, y / EACH};
  }
};

struct Tile {
  static constexpr int TILE = WIDTH * ROW + CLUSTER * SENDER + HEIGHT / 4 * 3 * COLUMN;
  static constexpr int EXCHANGE = THREADS / 32 * OF_WARP;
  float2 *rows, *half_rows, *columns, *half_columns, *exchange;
  float2 *total;
  uint64_t *barriers;  // of the four turns
  int rank;

  __device__ Tile(float2 *memory, float2 *total)
      : rows(memory), half_rows(rows + WIDTH * ROW), columns(half_rows + CLUSTER * SENDER),
        half_columns(columns + HEIGHT / 2 * COLUMN), exchange(half_columns + HEIGHT / 4 * COLUMN),
        total(total), barriers(reinterpret_cast<uint64_t *>(total + 1)), rank(block_rank()) {}

  __device__ int row(int i) const { return rank * ROWS + i; }
  __device__ int half_row(int i) const { return rank * HALF_ROWS + i; }
  __device__ int column(int i) const { return rank * PAIRS + i; }

  __device__ Row rows_in(int y) const {
    return {rows + Across::lane() * ROW + y - rank * ROWS};
  }
  __device__ Padded<Across, OF_WARP> rows_exchange(int) const {
    return Padded<Across, OF_WARP>(exchange);
  }
  __device__ ToColumns to_columns(int y) const {
    return {shared_address(columns + y / 2 * COLUMN + y % 2), shared_address(barriers)};
  }
  __device__ Column columns_in(int x) const { return column_in(columns, x); }
  __device__ Padded<Down, OF_WARP> columns_exchange(int) const {
    return Padded<Down, OF_WARP>(exchange);
  }
  __device__ ToRows<HALF_ROWS, 2> to_half_rows(int x) const {
    return {shared_address(half_rows + half_row_cell(x)), shared_address(barriers + 1)};
  }
  __device__ HalfRow half_rows_in(int y) const { return {half_rows + 2 * (y - rank * HALF_ROWS)}; }
  __device__ Padded<Across, OF_WARP> half_rows_exchange(int) const {
    return Padded<Across, OF_WARP>(exchange);
  }
  __device__ ToColumns to_half_columns(int y) const {
    return {shared_address(half_columns + y / 2 * COLUMN + y % 2), shared_address(barriers + 2)};
  }
  __device__ Column half_columns_in(int x) const { return column_in(half_columns, x); }
  __device__ ToRows<ROWS, 1> to_rows(int x) const {
    return {shared_address(rows + x * ROW), shared_address(barriers + 3)};
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
    if (threadIdx.x == 0) expect<TURN>();  // of the next iteration
  }

  // What went to global memory before `written` can be read after `seen` by the whole cluster.
  __device__ void written() const {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  }
  __device__ void seen() const { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

 private:
  __device__ Column column_in(float2 *buffer, int x) const {
    const int y = Down::lane();
    return {buffer + y / 2 * COLUMN + y % 2 + column_cell(x)};
  }

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
