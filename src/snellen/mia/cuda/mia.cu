// All iterations of MIA for one period of 32…256 × 32…256, in one launch: see docs/mia.md.
//
// A block, or a cluster of CLUSTER blocks, has one period of the batch; f and h stay in its registers (of
// many frames h in global memory; STASH values of a thread in shared memory), spectra in shared memory.
// One step is one frame of one iteration, in five passes with a turn of rows into columns, or back, between:
//   rows           Z = FFT(f + i h), along x
//   columns        along y; F and H are the two halves of Z: 4 F H = −i (Z + Z'*) (Z − Z'*), where
//                  Z' is Z at the opposite frequency; back along y
//   half rows      back along x, two real rows in one complex line: g; the ratio y / g; along x again
//   columns        R along y; S = i R Z*, which goes back to corr(r, h) + i corr(r, f); along y
//   rows           along x; f and h are multiplied by their corrections
// So three transforms of the whole tile do what six real ones would. The column −x is transformed the
// other way round, which gives it at the frequencies −y: then a frequency and its opposite are in the
// same register of the same lane. f and h need sums alike, or one is lost in the other's rounding.
//
// Columns are in inturn.cuh or beside.cuh, half rows in ratio.cuh, total variation in variation.cuh.
#include "fft/small.cuh"

using Across = Line<WIDTH, WIDTH_VALUES>;
using Half = Line<WIDTH, HALF_VALUES>;  // two real rows in one
using Down = Line<HEIGHT, HEIGHT_VALUES>;

#if CLUSTER > 1
#include "mia/cuda/cluster.cuh"
#else
#include "mia/cuda/one_block.cuh"
#endif
#include "mia/cuda/exchange.cuh"

constexpr int ROUNDS = (ROWS * Across::LANES + THREADS - 1) / THREADS;  // rows of a thread
constexpr bool SOME_ROWS = ROWS * Across::LANES < THREADS;  // only some threads have one
constexpr float TINY = 1e-30f;
constexpr bool IN_MEMORY = GAUSSIAN || TV;  // whether blocks tell each other by global memory, too

// What one block, or cluster, works on.
struct Problem {
  const float *y;          // (frames, HEIGHT, WIDTH): negative where nothing was observed
  float *f;                // (2, HEIGHT, WIDTH): of even and odd iterations
  float *h;                // (frames, HEIGHT, WIDTH)
  float2 *denominators;    // (WIDTH, HEIGHT): of the Gaussian form, still to be transformed along x
  int frames;
  float variance;          // of read noise
  float weight;            // of total variation
};

// Pixel j of this lane's part of a row.
template <class Line = Across>
__device__ __forceinline__ int pixel(int y, int j) {
  return y * WIDTH + Line::position(j);
}

// Whether a thread sees one line of one picture only: it keeps it, in registers or in memory of its own.
constexpr bool ONE = HALF_ROWS * Half::LANES <= THREADS && !MANY;
constexpr bool KEPT = ONE && !STASH, ASIDE = ONE && STASH;
static_assert(!STASH || (RESIDENT && CLUSTER == 1), "no room aside");

// What a thread keeps.
struct State {
  static constexpr int REGISTERS = ROUNDS * Across::V - STASH;
  float2 kept[REGISTERS], *stash;
  float below[GAUSSIAN && MANY ? ROUNDS * Across::V : 1];  // sums of the Gaussian form's denominators
  float2 seen[KEPT ? Half::V : 1];                         // its half row of the picture
  float2 spectrum[BESIDE ? Down::V : 1];                   // its column
  float4 *aside;                                           // its half row, for all threads in order

  // f and h of value j of a row; with several frames, f and the sum of its corrections. The last
  // STASH of them are in shared memory.
  __device__ __forceinline__ float2 &f_h(int round, int j) {
    const int i = round * Across::V + j;
    return i < REGISTERS ? kept[i] : stash[(i - REGISTERS) * THREADS];
  }
};

// a / b, for b that is neither tiny nor huge: to 2 units in the last place.
__device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
}

// The row of a thread in a round, and whether there is one.
__device__ __forceinline__ bool row(const Tile &tile, int round, int &y) {
  const int i = round * (THREADS / Across::LANES) + Across::line();
  y = tile.row(i);
  return i < ROWS;
}

// Along x, forward: Z's rows go to the columns.
__device__ __forceinline__ void rows(const Tile &tile, State &state, const float *h,
                                     const Both<Across, RowsOut> &turns) {
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    const bool here = row(tile, c, y);
    if (!SOME_ROWS && !here) break;
    float2 v[Across::V];
    if (!SOME_ROWS || here)
#pragma unroll
      for (int j = 0; j < Across::V; j++) {
        v[j] = state.f_h(c, j);
        if (MANY) v[j].y = h[pixel(y, j)];
      }
    const int going = tile.row(c * (THREADS / Across::LANES) + RowsOut::line());
    handed<Across, RowsOut, false, (ROUNDS > 1)>(v, tile.rows_exchange(y), tile.rows_handed(going),
                                                 turns, !SOME_ROWS || here);
    if (SOME_ROWS && !here) break;
    const auto out = tile.to_columns(going);
#pragma unroll
    for (int j = 0; j < Across::V; j++) out[j] = v[j];
  }
}

#if BESIDE
#include "mia/cuda/concurrent.cuh"
#else
#include "mia/cuda/sequential.cuh"
#endif
#include "mia/cuda/ratio.cuh"
#include "mia/cuda/total_variation.cuh"

// Back along x: the corrections of f and h, and, for the Gaussian form, their denominators.
__device__ __forceinline__ void corrected(const Tile &tile, const Problem &problem, int y,
                                          float2 (&v)[Across::V], float2 (&below)[Across::V],
                                          const Of<Across>::Turns &turns) {
  const auto in = tile.rows_in(y);
#pragma unroll
  for (int j = 0; j < Across::V; j++) v[j] = in[j];
  Across::transform<true>(v, tile.rows_exchange(y), turns);
  if (!GAUSSIAN) return;
  const int x = Across::lane();
#pragma unroll
  for (int j = 0; j < Across::V; j++)
    below[j] = __ldcg(problem.denominators + (x + Across::LANES * j) * HEIGHT + y);
  Across::transform<true>(below, tile.rows_exchange(y), turns);
}

// f and h times their corrections; with several frames, f only after the last one.
__device__ __forceinline__ void update(const Tile &tile, const Problem &problem, State &state,
                                       int iteration, int frame,
                                       const Of<Across>::Turns &turns) {
  const float2 total = *tile.total;  // of f, and of h before it is divided by it, or nothing is left
  const float to_f = quotient(.5f / PIXELS, fmaxf(total.y, TINY));
  const float to_f_below = quotient(.5f * to_f, fmaxf(total.y, TINY));
  const float to_h = GAUSSIAN ? quotient(.5f / PIXELS, total.x) : to_f;  // else any factor will do
  const float to_h_below = quotient(.5f * to_h, fmaxf(total.y, TINY));
  const float even = quotient(total.x, fmaxf(total.y, TINY));  // h back to f's sum; Poisson does so itself
  float *const h = problem.h + frame * PIXELS;
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    if (!row(tile, c, y)) break;
    float2 v[Across::V], below[Across::V];
    corrected(tile, problem, y, v, below, turns);
#pragma unroll
    for (int j = 0; j < Across::V; j++) {
      float2 &now = state.f_h(c, j);
      float by = v[j].y * to_h, f = v[j].x * to_f;
      float under = GAUSSIAN ? below[j].x * to_f_below : 1.f;
      if (GAUSSIAN) by = even * quotient(by, fmaxf(below[j].y * to_h_below, EPSILON));
      by = v[j].y == 0.f ? 1.f : fmaxf(by, 0.f);  // R is 0 for a black frame only: h stays
      if (BLIND && MANY) h[pixel(y, j)] *= by;
      if (BLIND && !MANY) now.y *= by;
      if (MANY) {
        float &sum = state.below[GAUSSIAN ? c * Across::V + j : 0];
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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    mia(const float *y, float *f, float *h, float2 *denominators, float2 *outside, int frames,
        int iterations, float variance, float weight) {
  extern __shared__ __align__(128) float4 memory[];
  float2 *const inside = reinterpret_cast<float2 *>(memory);  // first: it wants 128 bytes
  float2 *const stash = inside + (RESIDENT ? CELLS : 0), *const across = stash + STASH * THREADS;
  float2 *const down = across + Across::TURNS;
  constexpr bool OWN = !Same<Half, Across>::value;  // whether half rows need a table of their own
  float2 *const half = OWN ? down + Down::TURNS : across;
  float2 *const total = down + Down::TURNS + OWN * Half::TURNS;  // sums, and barriers after them
  static_assert(CELLS == Tile::TILE + Tile::EXCHANGE &&
                    TABLES == Across::TURNS + Down::TURNS + OWN * Half::TURNS,
                "shape.py counts other cells");
  const size_t which = blockIdx.x / CLUSTER;
  const Tile tile(RESIDENT ? inside : outside + which * CELLS, total);
  const Problem problem = {y + which * frames * PIXELS, f + which * 2 * PIXELS,
                           h + which * frames * PIXELS, denominators + which * PIXELS, frames,
                           variance, weight};
  State state;
  state.stash = stash + threadIdx.x;
  if (KEPT) look(tile, problem.y, Half::line(), state.seen);
  if (ASIDE) {
    float2 seen[Half::V];
    look(tile, problem.y, Half::line(), seen);
    state.aside = reinterpret_cast<float4 *>(outside) + which * (THREADS * Half::V / 2) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < Half::V; j += 2)
      state.aside[j / 2 * THREADS] = make_float4(seen[j].x, seen[j].y, seen[j + 1].x, seen[j + 1].y);
  }
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    if (!row(tile, c, y)) break;
#pragma unroll
    for (int j = 0; j < Across::V; j++)
      state.f_h(c, j) = make_float2(problem.f[pixel(y, j)], MANY ? 0.f : problem.h[pixel(y, j)]);
  }
  Across::prepare(across);
  Down::prepare(down);
  if (OWN) Half::prepare(half);
  tile.begin();
  const AllTurns turns = {Both<Across, RowsOut>(across), Both<Half, HalfRowsOut>(half),
                          Both<Down, ColumnsOut>(down)};
#pragma unroll 1
  for (int step = 0; step < iterations * frames; step++) {
    const int iteration = MANY ? step / frames : step, frame = MANY ? step % frames : 0;
    rows(tile, state, problem.h + frame * PIXELS, turns.rows);
    tile.turn<0>(step);
    columns(tile, problem, state, turns.columns);
    if (IN_MEMORY) tile.written();
    half_rows(tile, problem.y + frame * PIXELS, variance, step, state, turns.half_rows);
    tile.turn<2>(step);
    corrections(tile, state, turns.columns);
    if (IN_MEMORY) tile.seen();
    if (TV && frame + 1 == frames) smoothed(tile, problem, state, iteration);
    tile.turn<3>(step);
    update(tile, problem, state, iteration, frame, turns.rows.in);
  }
#pragma unroll
  for (int c = 0; c < ROUNDS; c++) {
    int y;
    if (!row(tile, c, y)) break;
#pragma unroll
    for (int j = 0; j < Across::V; j++) {
      if (!TV) problem.f[pixel(y, j)] = state.f_h(c, j).x;  // else it is there, and others may read
      if (!MANY) problem.h[pixel(y, j)] = state.f_h(c, j).y;
    }
  }
}
