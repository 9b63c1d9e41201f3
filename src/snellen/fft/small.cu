// 2-D FFTs of 32 … 256 × 32 … 256 points, batched: forward, or inverse with INVERSE_FFT. The lines
// are those of small.cuh.
//
//   tile_fft      One launch: a block holds one complex picture in shared memory and transforms its
//                 rows, then its columns. Two block barriers separate load, rows, columns and
//                 store.
//   row_fft and column_fft
//                 Two launches, for pictures that are too large for one block, for few pictures,
//                 and for real ones. A row is exchanged within its warp; a block transforms STRIP
//                 columns.
//
// With REAL, the real rows y and y + HEIGHT / 2 are transformed as one complex line, and the
// spectrum has the columns 0 … WIDTH / 2. The result of an inverse transform is multiplied by
// SCALE.
#include "fft/layout.cuh"

using RowLine = Line<WIDTH, ROW_VALUES>;
using ColumnLine = Line<HEIGHT, COLUMN_VALUES>;

static_assert(RowLine::TWIDDLES == ROW_TWIDDLES && ColumnLine::TWIDDLES == COLUMN_TWIDDLES &&
                  ExchangeSize<RowLine>::WARP == ROW_EXCHANGE,
              "lines.py computes other sizes");

constexpr int PIXELS = HEIGHT * WIDTH;
[[maybe_unused]] constexpr int HALF = WIDTH / 2 + 1;  // columns of the spectrum of a real picture
constexpr int STRIP = 16;                             // columns of a block

__device__ __forceinline__ float2 scaled(float2 a) { return make_float2(SCALE * a.x, SCALE * a.y); }

// Grid: one block for each picture. Dynamic shared memory: the tile, then both twiddle tables.
extern "C" __global__ void __launch_bounds__(THREADS)
    tile_fft(const float2 *__restrict__ in, float2 *__restrict__ out) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *tile = reinterpret_cast<float2 *>(memory);  // it must be aligned to 128 bytes
  float2 *row_table = tile + PIXELS, *column_table = row_table + RowLine::TWIDDLES;
  RowLine::fill(row_table), ColumnLine::fill(column_table);
  in += (size_t)blockIdx.x * PIXELS, out += (size_t)blockIdx.x * PIXELS;
  __syncthreads();
  for (int i = RowLine::line(); i < HEIGHT; i += THREADS / RowLine::LANES) {
    const int y = conflict_free_line<RowLine>(i);
    const InTile<RowLine, false, WIDTH, ColumnLine::LANES> row(tile, y);
    float2 v[RowLine::V];
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) v[j] = in[y * WIDTH + RowLine::position(j)];
    RowLine::transform<INVERSE_FFT>(v, row, TableTwiddles<RowLine>(row_table));
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) row[j] = v[j];
  }
  __syncthreads();
  for (int i = ColumnLine::line(); i < WIDTH; i += THREADS / ColumnLine::LANES) {
    const InTile<ColumnLine, true, WIDTH, ColumnLine::LANES> column(
        tile, conflict_free_line<ColumnLine>(i));
    float2 v[ColumnLine::V];
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) v[j] = column[j];
    ColumnLine::transform<INVERSE_FFT>(v, column, TableTwiddles<ColumnLine>(column_table));
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) column[j] = v[j];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < PIXELS; i += THREADS)
    out[i] = scaled(tile[i ^ swizzle<ColumnLine::LANES>(i / WIDTH)]);
}

// Transforms `lines` rows, those of all pictures end to end; a real picture has HEIGHT / 2 of them.
// Dynamic shared memory: the twiddle table, then the exchange memory of each warp.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_fft(const void *__restrict__ from, void *__restrict__ to, int lines) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *row_table = reinterpret_cast<float2 *>(memory);
  RowLine::fill(row_table);
  const PaddedExchange<RowLine> exchange(row_table + RowLine::TWIDDLES);
  __syncthreads();
  const int line = blockIdx.x * (THREADS / RowLine::LANES) + RowLine::line();
  const bool active = line < lines;
  constexpr int LINES = REAL ? HEIGHT / 2 : HEIGHT;
  [[maybe_unused]] const int picture = line / LINES, y = line % LINES;
  float2 v[RowLine::V];
#if !REAL
  const float2 *in = static_cast<const float2 *>(from) + (size_t)line * WIDTH;
  float2 *out = static_cast<float2 *>(to) + (size_t)line * WIDTH;
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) v[j] = active ? in[RowLine::position(j)] : make_float2(0, 0);
  RowLine::transform<INVERSE_FFT>(v, exchange, TableTwiddles<RowLine>(row_table));
#pragma unroll
  for (int j = 0; j < RowLine::V; j++)
    if (active) out[RowLine::position(j)] = v[j];
#elif !INVERSE_FFT
  const float *in = static_cast<const float *>(from) + (size_t)picture * PIXELS + y * WIDTH;
  float2 *out = static_cast<float2 *>(to) + ((size_t)picture * HEIGHT + y) * HALF;
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) {
    const int x = RowLine::position(j);
    v[j] = active ? make_float2(in[x], in[x + PIXELS / 2]) : make_float2(0, 0);
  }
  RowLine::transform<false>(v, exchange, TableTwiddles<RowLine>(row_table));
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) exchange[j] = v[j];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) {  // the spectra of the two real rows, from their sum
    const int x = RowLine::position(j);
    const float2 a = v[j], b = conj(exchange.at(RowLine::opposite(j)));
    if (!active || x >= HALF) continue;
    out[x] = make_float2(.5f * (a.x + b.x), .5f * (a.y + b.y));
    out[x + HEIGHT / 2 * HALF] = make_float2(.5f * (a.y - b.y), .5f * (b.x - a.x));
  }
#else
  const float2 *in = static_cast<const float2 *>(from) + ((size_t)picture * HEIGHT + y) * HALF;
  float *out = static_cast<float *>(to) + (size_t)picture * PIXELS + y * WIDTH;
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) {
    const int x = RowLine::position(j), at = x < HALF ? x : WIDTH - x;
    float2 a = active ? in[at] : make_float2(0, 0), b = active ? in[at + HEIGHT / 2 * HALF] : a;
    if (at == 0 || at == WIDTH / 2) a.y = b.y = 0.f;  // as other libraries' inverse real FFTs do
    if (x != at) a = conj(a), b = conj(b);
    v[j] = make_float2(a.x - b.y, a.y + b.x);
  }
  RowLine::transform<true>(v, exchange, TableTwiddles<RowLine>(row_table));
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) {
    const int x = RowLine::position(j);
    if (active) out[x] = SCALE * v[j].x, out[x + PIXELS / 2] = SCALE * v[j].y;
  }
#endif
}

// Transforms the columns of pictures that are `width` columns wide; a block has STRIP columns of
// one picture. `out` may be `in`. Dynamic shared memory: a tile of STRIP columns, the twiddle
// table.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_fft(const float2 *in, float2 *out, int width) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *tile = reinterpret_cast<float2 *>(memory), *column_table = tile + HEIGHT * STRIP;
  ColumnLine::fill(column_table);
  const int strips = (width + STRIP - 1) / STRIP, first = blockIdx.x % strips * STRIP;
  const size_t picture = (size_t)(blockIdx.x / strips) * HEIGHT * width + first;
  for (int i = threadIdx.x; i < HEIGHT * STRIP; i += THREADS) {
    const int y = i / STRIP, x = i % STRIP;
    tile[i ^ swizzle<ColumnLine::LANES>(y)] =
        first + x < width ? in[picture + y * width + x] : make_float2(0, 0);
  }
  __syncthreads();
  for (int i = ColumnLine::line(); i < STRIP; i += THREADS / ColumnLine::LANES) {
    const InTile<ColumnLine, true, STRIP, ColumnLine::LANES> column(
        tile, conflict_free_line<ColumnLine>(i));
    float2 v[ColumnLine::V];
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) v[j] = column[j];
    ColumnLine::transform<INVERSE_FFT>(v, column, TableTwiddles<ColumnLine>(column_table));
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) column[j] = v[j];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < HEIGHT * STRIP; i += THREADS) {
    const int y = i / STRIP, x = i % STRIP;
    const float2 a = tile[i ^ swizzle<ColumnLine::LANES>(y)];
    if (first + x < width) out[picture + y * width + x] = REAL ? a : scaled(a);
  }
}
