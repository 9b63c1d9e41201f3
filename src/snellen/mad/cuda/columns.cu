// The log-Gabor subbands of a picture, second half: inverse transforms of columns, magnitudes, and moments
// of tiles of 4 × 4 pixels.
//
// Who holds what: a block has four columns of a subband, which lie in one piece (rows.cu), and transforms
// them in shared memory (line.cuh). Magnitudes take the place of what was transformed, and of each tile a
// thread writes the mean, and the sums of second to fourth powers.
//
// Barriers: all threads of a block reach those between steps. Macros from the host: those of line.cuh,
// with LINES = 4, BLOCKS (of a multiprocessor).
#include "line.cuh"

constexpr int FOUR = STEP;          // columns side by side
constexpr int PADDED = PIXELS + 4;  // numbers of a tile in shared memory

// Computes the moments of the tiles of four columns of a subband: (count, rows, columns) of tiles.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    columns(const float2 *__restrict__ bands, const float2 *__restrict__ factors,
            float4 *__restrict__ out) {
  extern __shared__ float4 memory[];
  float2 *cells = reinterpret_cast<float2 *>(memory);
  constexpr int DOWN = LENGTH / STEP, BUTTERFLIES = R1 * R2 * FOUR;
  constexpr int ROUNDS = (BUTTERFLIES + THREADS - 1) / THREADS;
  const int fours = gridDim.x;
  bands += ((size_t)blockIdx.y * fours + blockIdx.x) * (LENGTH * FOUR);
  first_step(cells, factors, [&](unsigned line, unsigned m) {
    const float2 *at = bands + m * FOUR + line;
    return [=](int n) { return __ldcs(at + n * REST * FOUR); };
  });
  __syncthreads();
  second_step(cells, factors);
  __syncthreads();

  float magnitude[ROUNDS][R3];
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    const unsigned b = threadIdx.x + round * THREADS;
    if (b < BUTTERFLIES) {
      float2 v[R3];
      third_step(cells, b, v);
#pragma unroll
      for (int k = 0; k < R3; k++) magnitude[round][k] = root(v[k].x * v[k].x + v[k].y * v[k].y);
    }
  }
  __syncthreads();
  float *pixels = reinterpret_cast<float *>(memory);
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    const unsigned b = threadIdx.x + round * THREADS;
    if (b < BUTTERFLIES) {
      float *at = pixels + b / PIXELS * PADDED + b % PIXELS;
#pragma unroll
      for (int k = 0; k < R3; k++) {
        if constexpr (R1 * R2 % STEP == 0) {
          at[R1 * R2 / STEP * PADDED * k] = magnitude[round][k];
        } else {
          const unsigned pixel = b + R1 * R2 * FOUR * k;
          pixels[pixel / PIXELS * PADDED + pixel % PIXELS] = magnitude[round][k];
        }
      }
    }
  }
  __syncthreads();
  out += (size_t)blockIdx.y * DOWN * fours + blockIdx.x;
  for (unsigned tile = threadIdx.x; tile < DOWN; tile += THREADS) {
    float x[PIXELS];
#pragma unroll
    for (int i = 0; i < STEP; i++) {
      const float4 four = reinterpret_cast<const float4 *>(pixels + tile * PADDED)[i];
      x[4 * i] = four.x, x[4 * i + 1] = four.y, x[4 * i + 2] = four.z, x[4 * i + 3] = four.w;
    }
    const Moments<4> m = moments_of<4>(x);
    out[(size_t)tile * fours] = {m.mean, m.power[0], m.power[1], m.power[2]};
  }
}
