// The passes along x and along y of square.cu: `Rows` and `Columns`, each with what it loads and
// stores first, last and between two launches. square.cu defines the sizes.
//
// Who holds what, and which barriers there are: see square.cu. Here are those of the transforms
// alone: a row synchronises its warp, a column its block.
#pragma once
#include "fft/blocks.cuh"
#include "fft/small.cuh"

// Fills the table of twiddle factors, as RowLine::fill does, by exact products instead of
// divisions: with one picture, the block waits for it. A __syncthreads must follow.
__device__ __forceinline__ void fill(float2 *table) {
  for (int i = threadIdx.x; i < RowLine::TWIDDLES; i += THREADS) {
    const int row = i / RowLine::ROW_STRIDE;
    const int k = RowLine::TWO_SUBS ? RowLine::BASE_ENTRY : i % RowLine::ROW_STRIDE;
    const int octave = k ? 31 - __clz(k) : -1;  // the inner transform has r = 4 · 2^octave points
    const float part = row * (float(RowLine::SUB) / SIDE);
    const float further = k ? k - (1 << octave) : 0;
    const float one_of_r = __int_as_float(127 - 2 - octave << 23);
    float2 w;
    sincospif(-2.f * (k == RowLine::SPLIT_ENTRY ? part : (part + further) * one_of_r), &w.y, &w.x);
    table[i] = w;
  }
}

// What a thread needs to know all the time.
struct Block {
  float2 *exchange, *table;
  float2 *packed;  // column 0 of a real picture
  uint64_t *barrier;
  int rank;
  size_t picture;
  __device__ explicit Block(float4 *memory)
      : exchange(reinterpret_cast<float2 *>(memory)),
        table(exchange + TABLE_AT),
        packed(exchange + PACKED_AT),
        barrier(reinterpret_cast<uint64_t *>(exchange + BARRIER_AT)),
        rank(blockIdx.x % CLUSTER),
        picture(blockIdx.x / CLUSTER) {}

  // Calls `load`, which is the first to access global memory, and fills the table meanwhile
  // or before. The block must be synchronised after it.
  template <class Load>
  __device__ __forceinline__ void begin(const Load &load) const {
    if constexpr (OVERLAP) {
      let_next_begin();
      fill(table);
      await_previous();
      load();
    } else {
      load();
      fill(table);
    }
  }

  __device__ const float2 *spectrum(const void *all) const {
    return static_cast<const float2 *>(all) + picture * (SIDE * WIDTH);
  }
  __device__ float2 *spectrum(void *all) const {
    return static_cast<float2 *>(all) + picture * (SIDE * WIDTH);
  }
};

// The opposite frequencies of a row's lane lie in another one of its warp. Value j there is
// opposite to value V − 1 − j here, and in lane 0, which has its own opposite, to value V − j.
__device__ __forceinline__ float2 from_opposite(float2 a) {
  const int l = RowLine::lane(), from = threadIdx.x % 32 - l + (L - l) % L;
  return make_float2(__shfl_sync(ALL, a.x, from), __shfl_sync(ALL, a.y, from));
}

// Splits the spectrum of two packed real rows: of the columns l + LANES · j < SIDE / 2, v[j]
// becomes the upper row's and v[j + V / 2] the lower one's. Column 0 becomes a + i b of the real
// columns a = 0 and b = SIDE / 2.
__device__ __forceinline__ void separate(Values &v) {
  const bool first = RowLine::lane() == 0;
  float2 far[V / 2];
#pragma unroll
  for (int j = 0; j < V / 2; j++)
    far[j] = from_opposite(first ? v[j ? V - j : V / 2] : v[V - 1 - j]);
#pragma unroll
  for (int j = 0; j < V / 2; j++) {
    const float2 a = v[j], b = far[j];
    v[j] = make_float2(.5f * (a.x + b.x), .5f * (a.y - b.y));
    v[j + V / 2] = make_float2(.5f * (a.y + b.y), .5f * (b.x - a.x));
    if (j == 0 && first) v[0] = make_float2(a.x, b.x), v[V / 2] = make_float2(a.y, b.y);
  }
}

// Packs the half spectra of two real rows; undoes `separate`.
__device__ __forceinline__ void join(Values &v) {
  const bool first = RowLine::lane() == 0;
  float2 far[V / 2];
#pragma unroll
  for (int j = 0; j < V / 2; j++) {
    const float2 a = v[j], b = v[j + V / 2];
    v[j] = make_float2(a.x - b.y, a.y + b.x);
    far[j] = make_float2(a.x + b.y, b.x - a.y);
    if (j == 0 && first) v[0] = make_float2(a.x, b.x), far[0] = make_float2(a.y, b.y);
    far[j] = from_opposite(far[j]);
  }
#pragma unroll
  for (int j = V / 2; j < V; j++) v[j] = first ? far[j > V / 2 ? V - j : 0] : far[V - 1 - j];
}

// The pass along x.
struct Rows {
  using Lanes = RowLine;
  static constexpr bool SYNCHRONISED = true;  // a warp has left its exchange
  float2 *store, *load;

  __device__ explicit Rows(float2 *memory) {
    float2 *line = memory + RowLine::line() * LINE;
    store = line + RowLine::lane();
    load = line + (RowLine::SUB_LANES > 1 ? RowLine::lane() % V : RowLine::lane()) * STRIDE;
  }
  __device__ __forceinline__ float2 &exchange_store(int k) const { return store[k * STRIDE]; }
  __device__ __forceinline__ float2 &exchange_load(int a, int i) const {
    return load[RowLine::SUB_LANES > 1 ? i + V * a : L * STRIDE * a + i];
  }
  static __device__ __forceinline__ void transform(Values &v, const Block &block) {
    RowLine::transform<INVERSE_FFT>(v, Rows(block.exchange), TableTwiddles<RowLine>(block.table));
  }

  // From the caller's array, and to it.
  static __device__ __forceinline__ void load_first(Values &v, const void *from,
                                                    const Block &block) {
    const int y = block.rank * OWN + RowLine::line();
    const size_t at = block.picture * (SIDE * SIDE) + y * SIDE;
#pragma unroll
    for (int j = 0; j < V; j++) {
      const int x = RowLine::position(j);
      if constexpr (REAL) {
        const float *in = static_cast<const float *>(from) + at;
        v[j] = make_float2(in[x], in[x + SIDE * SIDE / 2]);
      } else {
        v[j] = (static_cast<const float2 *>(from) + at)[x];
      }
    }
  }
  static __device__ __forceinline__ void store_last(const Values &v, void *to, const Block &block) {
    const int y = block.rank * OWN + RowLine::line();
    float *out = static_cast<float *>(to) + block.picture * (SIDE * SIDE) + y * SIDE;
#pragma unroll
    for (int j = 0; j < V; j++) {
      const int x = RowLine::position(j);
      out[x] = SCALE * v[j].x, out[x + SIDE * SIDE / 2] = SCALE * v[j].y;
    }
  }

  // A column that this pass has left to itself, or found: none.
  static __device__ __forceinline__ void begin_first(Values &, const Block &) {}
  static __device__ __forceinline__ void end_first(Values &v) {
    if constexpr (REAL) separate(v);
  }
  static __device__ __forceinline__ void begin_second(Values &v) { join(v); }

  // To global memory between two launches, and from it.
  static __device__ __forceinline__ void store_between(const Values &v, void *to,
                                                       const Block &block) {
    float2 *out = block.spectrum(to) + (block.rank * OWN + RowLine::line()) * WIDTH;
#pragma unroll
    for (int j = 0; j < V; j++)
      out[RowLine::position(j % CELLS) + j / CELLS * (SIDE / 2 * WIDTH)] = v[j];
  }
  static __device__ __forceinline__ void load_between(Values &v, const void *from,
                                                      const Block &block) {
    const float2 *in = block.spectrum(from) + (block.rank * OWN + RowLine::line()) * WIDTH;
#pragma unroll
    for (int j = 0; j < V; j++)
      v[j] = in[RowLine::position(j % CELLS) + j / CELLS * (SIDE / 2 * WIDTH)];
  }
};

// The spectrum, at frequency k, of a + i b of the real parts of the columns 0 and SIDE / 2 that
// have these spectra: what is no spectrum of a real column is left out, as by other libraries.
__device__ __forceinline__ float2 packed_columns(const float2 *spectrum, int k) {
  const float2 *here = spectrum + k * WIDTH, *opposite = spectrum + (-k & (SIDE - 1)) * WIDTH;
  const float2 a = here[0], p = opposite[0], b = here[SIDE / 2], q = opposite[SIDE / 2];
  return make_float2(.5f * (a.x + p.x - b.y + q.y), .5f * (a.y - p.y + b.x + q.x));
}

// Stores the spectra of both columns at frequency k, from that of a + i b.
__device__ __forceinline__ void unpack_columns(float2 *spectrum, const float2 *packed, int k) {
  const float2 a = packed[k], b = packed[-k & (SIDE - 1)];
  spectrum[k * WIDTH] = make_float2(.5f * (a.x + b.x), .5f * (a.y - b.y));
  spectrum[k * WIDTH + SIDE / 2] = make_float2(.5f * (a.y + b.y), .5f * (b.x - a.x));
}

// The pass along y.
struct Columns {
  using Lanes = ColumnLine;
  static constexpr bool SYNCHRONISED = false;
  float2 *store, *load;

  __device__ explicit Columns(float2 *memory) {
    const int l = ColumnLine::lane();
    store = memory + threadIdx.x;
    load = memory + (ColumnLine::SUB_LANES > 1 ? l % V : l) * STEP + ColumnLine::line();
  }
  __device__ __forceinline__ float2 &exchange_store(int k) const { return store[k * STEP]; }
  __device__ __forceinline__ float2 &exchange_load(int a, int i) const {
    return load[ColumnLine::SUB_LANES > 1 ? (i + V * a) * OWN : L * STEP * a + i * OWN];
  }
  static __device__ __forceinline__ void transform(Values &v, const Block &block) {
    const Columns exchange(block.exchange);
    const TableTwiddles<ColumnLine> twiddles(block.table);
    ColumnLine::begin<INVERSE_FFT>(v, exchange, twiddles);
    __syncthreads();
    ColumnLine::finish<INVERSE_FFT>(v, exchange, twiddles);
  }
  static __device__ int x(const Block &block) { return block.rank * OWN + ColumnLine::line(); }

  static __device__ __forceinline__ void load_first(Values &v, const void *from,
                                                    const Block &block) {
    const float2 *in = block.spectrum(from);
    if (block.rank == 0)
      for (int k = threadIdx.x; k < SIDE; k += THREADS) block.packed[k] = packed_columns(in, k);
    load_between(v, from, block);
  }
  static __device__ __forceinline__ void store_last(const Values &v, void *to, const Block &block) {
    float2 *out = block.spectrum(to);
    if (REAL && x(block) == 0)
#pragma unroll
      for (int j = 0; j < V; j++) block.packed[ColumnLine::position(j)] = v[j];
    else
#pragma unroll
      for (int j = 0; j < V; j++)
        out[ColumnLine::position(j) * WIDTH + x(block)] =
            INVERSE_FFT ? make_float2(SCALE * v[j].x, SCALE * v[j].y) : v[j];
    if (REAL && block.rank == 0) {
      __syncthreads();
      for (int k = threadIdx.x; k < SIDE; k += THREADS) unpack_columns(out, block.packed, k);
    }
  }

  static __device__ __forceinline__ void begin_first(Values &v, const Block &block) {
    if (x(block) == 0)
#pragma unroll
      for (int j = 0; j < V; j++) v[j] = block.packed[ColumnLine::position(j)];
  }
  static __device__ __forceinline__ void end_first(Values &) {}
  static __device__ __forceinline__ void begin_second(Values &) {}

  static __device__ __forceinline__ void store_between(const Values &v, void *to,
                                                       const Block &block) {
    float2 *out = block.spectrum(to) + x(block);
#pragma unroll
    for (int j = 0; j < V; j++) out[ColumnLine::position(j) * WIDTH] = v[j];
  }
  static __device__ __forceinline__ void load_between(Values &v, const void *from,
                                                      const Block &block) {
    const float2 *in = block.spectrum(from) + x(block);
#pragma unroll
    for (int j = 0; j < V; j++) v[j] = in[ColumnLine::position(j) * WIDTH];
  }
};
