// 2-D transforms of 32…256 × 32…256, forward, or backward with BACKWARD; many at once. See small.cuh.
//
//   whole    a block has one complex picture in shared memory: rows, then columns; one launch
//   rows     and columns: two launches, for pictures that are larger, for few, and for real ones
// With REAL, two real rows y and y + HEIGHT / 2 go as one complex line, and of the spectrum there are
// the columns 0 … WIDTH / 2. Backward results are multiplied by SCALE.
#include "fft/layout.cuh"

using Across = Line<WIDTH, WIDTH_VALUES>;
using Down = Line<HEIGHT, HEIGHT_VALUES>;

static_assert(Across::TURNS == ACROSS_TURNS && Down::TURNS == DOWN_TURNS &&
                  Cells<Across>::NEEDED == ACROSS_CELLS,
              "lines.py counts other cells");

constexpr int PIXELS = HEIGHT * WIDTH;
[[maybe_unused]] constexpr int HALF = WIDTH / 2 + 1;
constexpr int STRIP = 16;  // columns of a block

__device__ __forceinline__ float2 scaled(float2 a) { return make_float2(SCALE * a.x, SCALE * a.y); }

extern "C" __global__ void __launch_bounds__(THREADS)
    whole(const float2 *__restrict__ in, float2 *__restrict__ out) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *tile = reinterpret_cast<float2 *>(memory);  // the tables after it: it wants 128 bytes
  float2 *across = tile + PIXELS, *down = across + Across::TURNS;
  Across::prepare(across), Down::prepare(down);
  in += (size_t)blockIdx.x * PIXELS, out += (size_t)blockIdx.x * PIXELS;
  __syncthreads();
  for (int i = Across::line(); i < HEIGHT; i += THREADS / Across::LANES) {
    const int y = spaced<Across>(i);
    const InPlace<Across, false, WIDTH, Down::LANES> row(tile, y);
    float2 v[Across::V];
#pragma unroll
    for (int j = 0; j < Across::V; j++) v[j] = in[y * WIDTH + Across::position(j)];
    Across::transform<BACKWARD>(v, row, Turns<Across>(across));
#pragma unroll
    for (int j = 0; j < Across::V; j++) row[j] = v[j];
  }
  __syncthreads();
  for (int i = Down::line(); i < WIDTH; i += THREADS / Down::LANES) {
    const InPlace<Down, true, WIDTH, Down::LANES> column(tile, spaced<Down>(i));
    float2 v[Down::V];
#pragma unroll
    for (int j = 0; j < Down::V; j++) v[j] = column[j];
    Down::transform<BACKWARD>(v, column, Turns<Down>(down));
#pragma unroll
    for (int j = 0; j < Down::V; j++) column[j] = v[j];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < PIXELS; i += THREADS)
    out[i] = scaled(tile[i ^ folded<Down::LANES>(i / WIDTH)]);
}

// Lines of all pictures end to end; a real picture has HEIGHT / 2 of them.
extern "C" __global__ void __launch_bounds__(THREADS)
    rows(const void *__restrict__ from, void *__restrict__ to, int lines) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *across = reinterpret_cast<float2 *>(memory);
  Across::prepare(across);
  const Padded<Across> cells(across + Across::TURNS);
  __syncthreads();
  const int line = blockIdx.x * (THREADS / Across::LANES) + Across::line();
  const bool here = line < lines;
  constexpr int LINES = REAL ? HEIGHT / 2 : HEIGHT;
  [[maybe_unused]] const int picture = line / LINES, y = line % LINES;
  float2 v[Across::V];
#if !REAL
  const float2 *in = static_cast<const float2 *>(from) + (size_t)line * WIDTH;
  float2 *out = static_cast<float2 *>(to) + (size_t)line * WIDTH;
#pragma unroll
  for (int j = 0; j < Across::V; j++) v[j] = here ? in[Across::position(j)] : make_float2(0, 0);
  Across::transform<BACKWARD>(v, cells, Turns<Across>(across));
#pragma unroll
  for (int j = 0; j < Across::V; j++)
    if (here) out[Across::position(j)] = v[j];
#elif !BACKWARD
  const float *in = static_cast<const float *>(from) + (size_t)picture * PIXELS + y * WIDTH;
  float2 *out = static_cast<float2 *>(to) + ((size_t)picture * HEIGHT + y) * HALF;
#pragma unroll
  for (int j = 0; j < Across::V; j++) {
    const int x = Across::position(j);
    v[j] = here ? make_float2(in[x], in[x + PIXELS / 2]) : make_float2(0, 0);
  }
  Across::transform<false>(v, cells, Turns<Across>(across));
#pragma unroll
  for (int j = 0; j < Across::V; j++) cells[j] = v[j];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Across::V; j++) {
    const int x = Across::position(j);
    const float2 a = v[j], b = conj(cells.at(Across::opposite(j)));
    if (!here || x >= HALF) continue;
    out[x] = make_float2(.5f * (a.x + b.x), .5f * (a.y + b.y));
    out[x + HEIGHT / 2 * HALF] = make_float2(.5f * (a.y - b.y), .5f * (b.x - a.x));
  }
#else
  const float2 *in = static_cast<const float2 *>(from) + ((size_t)picture * HEIGHT + y) * HALF;
  float *out = static_cast<float *>(to) + (size_t)picture * PIXELS + y * WIDTH;
#pragma unroll
  for (int j = 0; j < Across::V; j++) {
    const int x = Across::position(j), at = x < HALF ? x : WIDTH - x;
    float2 a = here ? in[at] : make_float2(0, 0), b = here ? in[at + HEIGHT / 2 * HALF] : a;
    if (at == 0 || at == WIDTH / 2) a.y = b.y = 0.f;  // as every real transform takes them
    if (x != at) a = conj(a), b = conj(b);
    v[j] = make_float2(a.x - b.y, a.y + b.x);
  }
  Across::transform<true>(v, cells, Turns<Across>(across));
#pragma unroll
  for (int j = 0; j < Across::V; j++) {
    const int x = Across::position(j);
    if (here) out[x] = SCALE * v[j].x, out[x + PIXELS / 2] = SCALE * v[j].y;
  }
#endif
}

// STRIP columns of one picture to a block; `across` of them in a row.
extern "C" __global__ void __launch_bounds__(THREADS)
    columns(const float2 *in, float2 *out, int across) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *tile = reinterpret_cast<float2 *>(memory), *down = tile + HEIGHT * STRIP;
  Down::prepare(down);
  const int strips = (across + STRIP - 1) / STRIP, first = blockIdx.x % strips * STRIP;
  const size_t picture = (size_t)(blockIdx.x / strips) * HEIGHT * across + first;
  for (int i = threadIdx.x; i < HEIGHT * STRIP; i += THREADS) {
    const int y = i / STRIP, x = i % STRIP;
    tile[i ^ folded<Down::LANES>(y)] = first + x < across ? in[picture + y * across + x] : make_float2(0, 0);
  }
  __syncthreads();
  for (int i = Down::line(); i < STRIP; i += THREADS / Down::LANES) {
    const InPlace<Down, true, STRIP, Down::LANES> column(tile, spaced<Down>(i));
    float2 v[Down::V];
#pragma unroll
    for (int j = 0; j < Down::V; j++) v[j] = column[j];
    Down::transform<BACKWARD>(v, column, Turns<Down>(down));
#pragma unroll
    for (int j = 0; j < Down::V; j++) column[j] = v[j];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < HEIGHT * STRIP; i += THREADS) {
    const int y = i / STRIP, x = i % STRIP;
    const float2 a = tile[i ^ folded<Down::LANES>(y)];
    if (first + x < across) out[picture + y * across + x] = REAL ? a : scaled(a);
  }
}
