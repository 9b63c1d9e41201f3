// 2-D FFTs of square pictures of SIDE = 32 … 256 points a side, batched: forward, or inverse with
// INVERSE_FFT; complex, or with REAL from a real picture to its half spectrum, or back. The lines
// are those of small.cuh.
//
//   square_fft    One launch: CLUSTER blocks share a picture. All of its values are in registers,
//                 and between the passes along x and y a transposition goes through shared memory,
//                 with CLUSTER > 1 to that of the block that owns the column (or row). Global
//                 memory is read once and written once. A block asks for its share of the picture
//                 that comes `ahead` pictures later (0: of none) in the L2 cache, so that global
//                 memory is read while blocks compute.
//   first_pass and second_pass
//                 Two launches, with TWO_LAUNCHES: the transposition goes through global memory,
//                 and CLUSTER is the number of the blocks of a picture, which know nothing of each
//                 other.
//
// Who holds what: a block has OWN rows, and then OWN columns; LANES of its threads hold a line.
//   thread of a row      line · LANES + lane: exchanges within a warp
//   thread of a column   lane · OWN + line: neighbours have neighbouring columns, so that global
//                        and shared memory are accessed along rows; exchanges within the block
//
// With REAL, the real rows y and y + SIDE / 2 are one complex line, whose spectrum `separate`
// splits into those of both; a cell of the transposition holds both. The columns 0 and SIDE / 2 of
// the half spectrum, which are the spectra of real columns, are transformed as one complex column,
// number 0. Real pictures are made the other way round: columns first, then `join` and rows.
//
// Barriers: rows within warps; columns within the block; before and after the transposition the
// block, or with CLUSTER > 1 the arrival of what the block receives. With APART the transposition
// has memory of its own, which costs shared memory and saves a barrier where the exchange of a pass
// would have to end first. A block may send once all blocks of its cluster run, and without APART
// once they have left their exchange: `cluster_arrive` says so, `cluster_wait` waits for it.
//
// With OVERLAP a kernel is launched while the one before it in the stream ends, and prepares itself
// up to the first access of global memory. So nothing here is __restrict__, which would let the
// compiler read ahead.
#include "fft/blocks.cuh"
#include "fft/small.cuh"

constexpr int EACH = REAL ? 2 : 1;     // complex numbers of a cell
constexpr int ACROSS = SIDE / EACH;    // lines of a pass, and cells of a line
constexpr int OWN = ACROSS / CLUSTER;  // lines of a block
constexpr int WIDTH = REAL ? SIDE / 2 + 1 : SIDE;  // of a spectrum
constexpr bool ROWS_FIRST = !(REAL && INVERSE_FFT);

using RowLine = Line<SIDE, VALUES>;
using ColumnLine = Line<SIDE, VALUES, OWN>;
constexpr int V = VALUES, L = RowLine::LANES, CELLS = V / EACH;  // of a thread
static_assert(THREADS == OWN * L && THREADS % 32 == 0, "a block needs whole warps");
using Values = float2[V];

__device__ constexpr int larger(int a, int b) { return a > b ? a : b; }

// Sizes in complex numbers. Strides avoid bank conflicts: of the exchange of rows among the lanes
// of a half-warp, LINE modulo 16 being LANES; STEP where a half-warp has several lanes of a column.
constexpr int STRIDE = L + 1;
constexpr int LINE = V * STRIDE + (L < 16 ? (L - V * STRIDE & 15) : 0);
constexpr int STEP = THREADS + (OWN < 16 ? OWN : 0);
constexpr int EXCHANGE = (larger(OWN * LINE, V * STEP) + 15) / 16 * 16;
// The tile that a block receives has ACROSS × OWN cells of rows, or OWN × ACROSS of columns, and
// this pitch in cells.
constexpr int PITCH = ROWS_FIRST ? OWN + (OWN > L && L < 16 / EACH ? L : 0)
                                 : ACROSS + (L < 8 ? L : OWN < 8 ? OWN : 0);
constexpr int TILE = TWO_LAUNCHES ? 0 : EACH * PITCH * (ROWS_FIRST ? ACROSS : OWN);
constexpr int TABLE_AT = APART ? EXCHANGE + TILE : larger(EXCHANGE, TILE);
constexpr int PACKED_AT = TABLE_AT + RowLine::TWIDDLES;
constexpr int BARRIER_AT = PACKED_AT + (REAL ? SIDE : 0);
static_assert(8 * (BARRIER_AT + 1) == SHARED, "square.py computes another size");

#include "fft/passes.cuh"

template <bool ROWS>
struct Passes {
  using First = Rows;
  using Second = Columns;
};
template <>
struct Passes<false> {
  using First = Columns;
  using Second = Rows;
};
using First = Passes<ROWS_FIRST>::First;
using Second = Passes<ROWS_FIRST>::Second;

#if TWO_LAUNCHES

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    first_pass(const void *from, void *between) {
  extern __shared__ __align__(128) float4 memory[];
  const Block block(memory);
  Values v;
  block.begin([&] { First::load_first(v, from, block); });
  __syncthreads();
  First::begin_first(v, block);
  First::transform(v, block);
  First::end_first(v);
  First::store_between(v, between, block);
}

// `to` may be `between`: a block has read its columns before it writes them.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    second_pass(const void *between, void *to) {
  extern __shared__ __align__(128) float4 memory[];
  const Block block(memory);
  Values v;
  block.begin([&] { Second::load_between(v, between, block); });
  __syncthreads();
  Second::begin_second(v);
  Second::transform(v, block);
  Second::store_last(v, to, block);
}

#else

// A cell of the transposition: a value of a complex line, or those of two packed real ones.
template <int NUMBERS>
struct Cell {
  using Type = float2;
  static __device__ __forceinline__ float2 of(const Values &v, int j) { return v[j]; }
  static __device__ __forceinline__ void to(Values &v, int j, float2 a) { v[j] = a; }
};
template <>
struct Cell<2> {
  using Type = float4;
  static __device__ __forceinline__ float4 of(const Values &v, int j) {
    return make_float4(v[j].x, v[j].y, v[j + CELLS].x, v[j + CELLS].y);
  }
  static __device__ __forceinline__ void to(Values &v, int j, float4 a) {
    v[j] = make_float2(a.x, a.y), v[j + CELLS] = make_float2(a.z, a.w);
  }
};
using OneCell = Cell<EACH>;

// Index in the tile of the cell that line `a` of the picture in the first pass has for line `b` of
// the block in the second one.
__device__ __forceinline__ constexpr int in_tile(int a, int b) {
  return ROWS_FIRST ? a * PITCH + b : a + b * PITCH;
}

// Sends the cells of this thread to the blocks whose lines they belong to: cell j belongs to line
// lane + LANES · j.
__device__ __forceinline__ void send_cells(const Values &v, OneCell::Type *tile,
                                           const Block &block) {
  const int mine = block.rank * OWN + First::Lanes::line(), l = First::Lanes::lane();
#pragma unroll
  for (int j = 0; j < CELLS; j++) {
    const int to = OWN >= L ? L * j / OWN : l / OWN + L / OWN * j;
    const int at = in_tile(mine, OWN >= L ? L * j % OWN + l : l % OWN);
    if constexpr (CLUSTER == 1)
      tile[at] = OneCell::of(v, j);
    else
      send(remote_address(local_address(tile), to) + int(sizeof(*tile)) * at,
           remote_address(local_address(block.barrier), to), OneCell::of(v, j));
  }
}

__device__ __forceinline__ void receive_cells(Values &v, const OneCell::Type *tile) {
#pragma unroll
  for (int j = 0; j < CELLS; j++)
    OneCell::to(v, j, tile[in_tile(Second::Lanes::position(j), Second::Lanes::line())]);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    square_fft(const void *from, void *to, int ahead) {
  extern __shared__ __align__(128) float4 memory[];
  const Block block(memory);
  auto *tile = reinterpret_cast<OneCell::Type *>(block.exchange + (APART ? EXCHANGE : 0));
  Values v;
  if constexpr (CLUSTER > 1) {
    if (threadIdx.x == 0) expect(block.barrier, 8 * EACH * ACROSS * OWN);
    __syncwarp();
    if (APART) cluster_arrive_first();
  }
  block.begin([&] { First::load_first(v, from, block); });
  if (ahead && threadIdx.x == 0 && block.picture + ahead < gridDim.x / CLUSTER) {
    constexpr size_t PICTURE = ROWS_FIRST && REAL ? SIDE * SIDE * 4 : SIDE * WIDTH * 8;
    constexpr int SHARE = PICTURE / CLUSTER;
    static_assert(SHARE % 16 == 0, "no multiple of what is fetched");
    const char *later = static_cast<const char *>(from) + (block.picture + ahead) * PICTURE;
    fetch_ahead(later + block.rank * SHARE, SHARE);
  }
  __syncthreads();
  First::begin_first(v, block);
  First::transform(v, block);
  if constexpr (CLUSTER > 1 && !APART) cluster_arrive();
  First::end_first(v);
  if constexpr (CLUSTER > 1) {
    // The second pass exchanges in the same memory once all cells have arrived. A row sends some to
    // its own block, after its warp has left the exchange: `await` waits for that, too (racecheck,
    // which does not know it, reports a race). A warp of columns may send none to its own block.
    if (APART && !First::SYNCHRONISED) __syncthreads();
    cluster_wait();
  } else if constexpr (!APART) {
    __syncthreads();
  }
  send_cells(v, tile, block);
  if constexpr (CLUSTER > 1)
    await(block.barrier);
  else
    __syncthreads();
  receive_cells(v, tile);
  if constexpr (!APART) __syncthreads();  // from here on the exchange may be written
  Second::begin_second(v);
  Second::transform(v, block);
  Second::store_last(v, to, block);
}

#endif
