// All iterations of MIA for one picture on a period of 32 … 256 × 32 … 256 samples, in one launch.
// docs/mia.md has the method, docs/mia-kernel.md a drawing of what follows and the derivations.
//
// Who holds what: one block, or a cluster of CLUSTER blocks, works on one picture of the batch. The
// estimate f and the PSF h stay in registers of the threads that own their rows (with MULTI_FRAME h
// is in global memory). Spectra are in shared memory, or in global memory where a multiprocessor has
// too little. One step treats one frame in one iteration, in five passes with a transposition
// between each two:
//   rows          forward along x: Z = FFT(f + i h)
//   columns       forward along y. F and H follow from Z: 4 F H = −i (Z + Z'*) (Z − Z'*), where Z'
//                 is Z at the opposite frequency. Inverse along y.
//   half rows     inverse along x, two real rows in one complex line: g = h ⊛ f. The ratio y / g.
//                 Forward along x again.
//   corrections   R forward along y; S = i R Z*, the transform of corr(r, h) + i corr(r, f);
//                 inverse along y.
//   update        inverse along x; f and h are multiplied by their corrections.
// So three complex transforms of the tile do the work of six real ones. The column −x is
// transformed as its conjugate, which yields its spectrum at the frequencies −y: a frequency and
// its opposite are then in the same register of the same lane. f and h share one complex transform,
// so the host scales them to similar sums; otherwise the smaller one would lose its low bits.
//
// Barriers: Tile::wait_transpose<0 … 3> ends the transposition after each of the first four passes:
// a block barrier with one block, an mbarrier that counts bytes with a cluster. The fifth pass
// needs none before the next step, because update and rows touch rows of the same thread only.
//
// Other headers: one_block.cuh or cluster.cuh (memory, transposition), concurrent.cuh or
// sequential.cuh (columns), ratio.cuh (half rows), total_variation.cuh.
#include "fft/small.cuh"

using RowLine = Line<WIDTH, ROW_VALUES>;
using HalfRowLine = Line<WIDTH, HALF_ROW_VALUES>;  // two real rows in one complex line
using ColumnLine = Line<HEIGHT, COLUMN_VALUES>;

#if CLUSTER > 1
#include "mia/cuda/cluster.cuh"
#else
#include "mia/cuda/one_block.cuh"
#endif
#include "mia/cuda/exchange.cuh"

// Rows of a thread, and whether some threads have none.
constexpr int ROUNDS = (ROWS * RowLine::LANES + THREADS - 1) / THREADS;
constexpr bool IDLE_THREADS = ROWS * RowLine::LANES < THREADS;
constexpr float TINY = 1e-30f;
constexpr bool GLOBAL_EXCHANGE = GAUSSIAN || TV;  // whether blocks of a cluster also exchange data
                                                  // through global memory

// What one block, or one cluster, works on.
struct Problem {
  const float *y;        // (frames, HEIGHT, WIDTH), negative where nothing was observed
  float *f;              // (2, HEIGHT, WIDTH), of even and of odd iterations
  float *h;              // (frames, HEIGHT, WIDTH)
  float2 *denominators;  // (WIDTH, HEIGHT), of Gaussian noise, not yet transformed along x
  int frames;
  float variance;  // of read noise
  float weight;    // of total variation
};

// Returns the index of the pixel of this lane's value j in row y.
template <class Line = RowLine>
__device__ __forceinline__ int pixel(int y, int j) {
  return y * WIDTH + Line::position(j);
}

// Whether the observed picture is cached in registers: where each thread sees one half row of one
// frame only, and where f and h leave registers for it.
constexpr bool IMAGE_IN_REGISTERS =
    HALF_ROWS * HalfRowLine::LANES <= THREADS && ROUNDS * RowLine::V < 32 && !MULTI_FRAME;

// What a thread holds through all iterations.
struct State {
  float2 values[ROUNDS * RowLine::V];  // f and h, or f and the sum of its corrections
  // Sums of the denominators of Gaussian noise over frames.
  float denominator_sum[GAUSSIAN && MULTI_FRAME ? ROUNDS * RowLine::V : 1];
  float2 image[IMAGE_IN_REGISTERS ? HalfRowLine::V : 1];  // its half row of the observed picture
  float2 spectrum[CONCURRENT ? ColumnLine::V : 1];        // its column of Z

  // f and h of value j of the row of a round; with several frames, f and the sum of its corrections.
  __device__ __forceinline__ float2 &f_h(int round, int j) {
    return values[round * RowLine::V + j];
  }
};

// Returns a / b to 2 units in the last place, for b that is neither tiny nor huge.
__device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
}

// Sets y to the row of this thread in a round and returns whether there is one.
__device__ __forceinline__ bool row(const Tile &tile, int round, int &y) {
  const int i = round * (THREADS / RowLine::LANES) + RowLine::line();
  y = tile.row(i);
  return i < ROWS;
}

// Transforms Z = f + i h forward along x and passes its rows on to the columns.
__device__ __forceinline__ void rows(const Tile &tile, State &state, const float *h,
                                     const StepTwiddles<RowLine, RowEnd> &twiddles) {
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    const bool active = row(tile, c, y);
    if (!IDLE_THREADS && !active) break;
    float2 v[RowLine::V];
    if (!IDLE_THREADS || active)
#pragma unroll
      for (int j = 0; j < RowLine::V; j++) {
        v[j] = state.f_h(c, j);
        if (MULTI_FRAME) v[j].y = h[pixel(y, j)];
      }
    const int end = tile.row(c * (THREADS / RowLine::LANES) + RowEnd::line());
    transform_across_lanes<RowLine, RowEnd, false, (ROUNDS > 1)>(
        v, tile.row_exchange(y), tile.row_exchange_end(end), twiddles, !IDLE_THREADS || active);
    if (IDLE_THREADS && !active) break;
    const auto out = tile.to_columns(end);
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) out[j] = v[j];
  }
}

#if CONCURRENT
#include "mia/cuda/concurrent.cuh"
#else
#include "mia/cuda/sequential.cuh"
#endif
#include "mia/cuda/ratio.cuh"
#include "mia/cuda/total_variation.cuh"

// Transforms a row of the corrections back along x: v gets the numerators of those of f and h. With
// Gaussian noise, `below` gets their denominators.
__device__ __forceinline__ void correction_row(const Tile &tile, const Problem &problem, int y,
                                               float2 (&v)[RowLine::V], float2 (&below)[RowLine::V],
                                               const TwiddlesOf<RowLine>::Type &twiddles) {
  const auto in = tile.rows_in(y);
#pragma unroll
  for (int j = 0; j < RowLine::V; j++) v[j] = in[j];
  RowLine::transform<true>(v, tile.row_exchange(y), twiddles);
  if (!GAUSSIAN) return;
  const int x = RowLine::lane();
#pragma unroll
  for (int j = 0; j < RowLine::V; j++)
    below[j] = __ldcg(problem.denominators + (x + RowLine::LANES * j) * HEIGHT + y);
  RowLine::transform<true>(below, tile.row_exchange(y), twiddles);
}

// Multiplies f and h by their corrections; with several frames, f only after the last one.
__device__ __forceinline__ void update(const Tile &tile, const Problem &problem, State &state,
                                       int iteration, int frame,
                                       const TwiddlesOf<RowLine>::Type &twiddles) {
  // The sums of f and h. h is not normalised: its sum is divided out here. TINY keeps the divisor
  // from 0 where nothing is left of h.
  const float2 total = *tile.total;
  const float to_f = quotient(.5f / PIXELS, fmaxf(total.y, TINY));
  const float to_f_below = quotient(.5f * to_f, fmaxf(total.y, TINY));
  // The factor of h is free for Poisson noise, since h is normalised anyway.
  const float to_h = GAUSSIAN ? quotient(.5f / PIXELS, total.x) : to_f;
  const float to_h_below = quotient(.5f * to_h, fmaxf(total.y, TINY));
  // Returns h to the sum of f; the Poisson correction does so by itself.
  const float even = quotient(total.x, fmaxf(total.y, TINY));
  float *const h = problem.h + frame * PIXELS;
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    if (!row(tile, c, y)) break;
    float2 v[RowLine::V], below[RowLine::V];
    correction_row(tile, problem, y, v, below, twiddles);
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) {
      float2 &now = state.f_h(c, j);
      float by = v[j].y * to_h, f = v[j].x * to_f;
      float under = GAUSSIAN ? below[j].x * to_f_below : 1.f;
      if (GAUSSIAN) by = even * quotient(by, fmaxf(below[j].y * to_h_below, EPSILON));
      by = v[j].y == 0.f ? 1.f : fmaxf(by, 0.f);  // R is 0 for a black frame only: h stays
      if (BLIND && MULTI_FRAME) h[pixel(y, j)] *= by;
      if (BLIND && !MULTI_FRAME) now.y *= by;
      if (MULTI_FRAME) {
        float &sum = state.denominator_sum[GAUSSIAN ? c * RowLine::V + j : 0];
        f = now.y = frame ? now.y + f : f;
        if (GAUSSIAN) under = sum = frame ? sum + under : under;
        if (frame + 1 < problem.frames) continue;
        if (!GAUSSIAN) f /= problem.frames;
      }
      if (GAUSSIAN) f = quotient(f, fmaxf(under, EPSILON));
      now.x *= fmaxf(f, SMALLEST);
      if (TV) problem.f[(~iteration & 1) * PIXELS + pixel(y, j)] = now.x;
    }
  }
}

// Grid: CLUSTER blocks for each picture. Dynamic shared memory: the workspace (with IN_SHARED), the
// twiddle tables, the sums of f and h, and the mbarriers of a cluster. `workspace` is that of all
// pictures in global memory, without IN_SHARED.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    mia(const float *y, float *f, float *h, float2 *denominators, float2 *workspace, int frames,
        int iterations, float variance, float weight) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *const shared = reinterpret_cast<float2 *>(memory);  // aligned to 128 bytes, for the tile
  float2 *const row_table = shared + (IN_SHARED ? WORKSPACE : 0);
  float2 *const column_table = row_table + RowLine::TWIDDLES;
  constexpr bool OWN_TABLE = !Same<HalfRowLine, RowLine>::value;  // whether half rows need a table
  float2 *const half_row_table = OWN_TABLE ? column_table + ColumnLine::TWIDDLES : row_table;
  float2 *const total = column_table + ColumnLine::TWIDDLES + OWN_TABLE * HalfRowLine::TWIDDLES;
  static_assert(
      WORKSPACE == Tile::TILE + Tile::EXCHANGE &&
          TABLES == RowLine::TWIDDLES + ColumnLine::TWIDDLES + OWN_TABLE * HalfRowLine::TWIDDLES,
      "layout.py computes other sizes");
  const size_t which = blockIdx.x / CLUSTER;
  const Tile tile(IN_SHARED ? shared : workspace + which * WORKSPACE, total);
  const Problem problem = {y + which * frames * PIXELS,
                           f + which * 2 * PIXELS,
                           h + which * frames * PIXELS,
                           denominators + which * PIXELS,
                           frames,
                           variance,
                           weight};
  State state;
  if (IMAGE_IN_REGISTERS) load_image(tile, problem.y, HalfRowLine::line(), state.image);
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    if (!row(tile, c, y)) break;
#pragma unroll
    for (int j = 0; j < RowLine::V; j++)
      state.f_h(c, j) =
          make_float2(problem.f[pixel(y, j)], MULTI_FRAME ? 0.f : problem.h[pixel(y, j)]);
  }
  RowLine::fill(row_table);
  ColumnLine::fill(column_table);
  if (OWN_TABLE) HalfRowLine::fill(half_row_table);
  tile.start();
  const AllTwiddles twiddles = {StepTwiddles<RowLine, RowEnd>(row_table),
                                StepTwiddles<HalfRowLine, HalfRowEnd>(half_row_table),
                                StepTwiddles<ColumnLine, ColumnEnd>(column_table)};
#pragma unroll 1
  for (int step = 0; step < iterations * frames; step++) {
    const int iteration = MULTI_FRAME ? step / frames : step;
    const int frame = MULTI_FRAME ? step % frames : 0;
    rows(tile, state, problem.h + frame * PIXELS, twiddles.rows);
    tile.wait_transpose<0>(step);
    columns(tile, problem, state, twiddles.columns);
    if (GLOBAL_EXCHANGE) tile.cluster_arrive();
    half_rows(tile, problem.y + frame * PIXELS, variance, step, state, twiddles.half_rows);
    tile.wait_transpose<2>(step);
    corrections(tile, state, twiddles.columns);
    if (GLOBAL_EXCHANGE) tile.cluster_wait();
    if (TV && frame + 1 == frames) apply_total_variation(tile, problem, state, iteration);
    tile.wait_transpose<3>(step);
    update(tile, problem, state, iteration, frame, twiddles.rows.begin);
  }
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    if (!row(tile, c, y)) break;
#pragma unroll
    for (int j = 0; j < RowLine::V; j++) {
      // With total variation f is in global memory already, where other blocks may still read it.
      if (!TV) problem.f[pixel(y, j)] = state.f_h(c, j).x;
      if (!MULTI_FRAME) problem.h[pixel(y, j)] = state.f_h(c, j).y;
    }
  }
}
