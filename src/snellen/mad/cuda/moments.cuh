// Moments of blocks of pixels, never from sums of raw powers, which would lose skew and kurtosis.
//
// A 4 × 4 tile is gathered in two passes over registers: its mean, then powers of what is away from
// it. Blocks are merged from tiles, four at a time, each tile's sums moved to the mean of the four:
// every pixel is read once, though 16 blocks of 16 × 16 cover it. From the host: THREADS, tiles across.
#pragma once

constexpr int STEP = 4;                 // pixels from block to block, and the side of a tile
constexpr int TILES = 4;                // of a block of 16 × 16, across and down
constexpr int HALO = TILES - 1;         // tiles to the right of a block's first one
constexpr int PIXELS = STEP * STEP;     // of a tile
constexpr int BLOCK = PIXELS * TILES * TILES;

// The mean, and the sums of second to ORDER-th powers of deviations from it.
template <int ORDER>
struct Moments {
  float mean, power[ORDER - 1];
};

template <int ORDER>
__device__ __forceinline__ Moments<ORDER> gather(const float (&x)[PIXELS]) {
  Moments<ORDER> m = {};
#pragma unroll
  for (int i = 0; i < PIXELS; i++) m.mean += x[i];
  m.mean *= 1.f / PIXELS;
#pragma unroll
  for (int i = 0; i < PIXELS; i++) {
    const float away = x[i] - m.mean;
    float power = away;
#pragma unroll
    for (int p = 0; p < ORDER - 1; p++) m.power[p] += power *= away;
  }
  return m;
}

// COUNT sets of `pixels` pixels each → one of all of them.
template <int ORDER, int COUNT>
__device__ __forceinline__ Moments<ORDER> merge(const Moments<ORDER> (&part)[COUNT], float pixels) {
  Moments<ORDER> m = {};
#pragma unroll
  for (int i = 0; i < COUNT; i++) m.mean += part[i].mean;
  m.mean *= 1.f / COUNT;
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const float away = part[i].mean - m.mean, square = away * away;
    m.power[0] += part[i].power[0] + pixels * square;
    if constexpr (ORDER == 4) {
      m.power[1] += part[i].power[1] + away * (3 * part[i].power[0] + pixels * square);
      m.power[2] += part[i].power[2] + 4 * away * part[i].power[1] +
                    square * (6 * part[i].power[0] + pixels * square);
    }
  }
  return m;
}

// Walks down a strip of THREADS tiles across. Thread t gathers the tiles of its column, where `inside`
// says that the plane has them: `read(row, x)` gives the pixels of the one in a row of tiles. Then
// `write(row, block, quarter)` takes the moments of the block that begins there and of its top left
// 8 × 8, for rows first … last − 1; those of the last HALO threads lack tiles and mean nothing.
template <int ORDER, typename Read, typename Write>
__device__ __forceinline__ void march(int first, int last, bool inside, Read read, Write write) {
  __shared__ Moments<ORDER> lines[2][THREADS + HALO];
  const int t = threadIdx.x;
  if (t < HALO) lines[0][THREADS + t] = lines[1][THREADS + t] = {};
  Moments<ORDER> strips[TILES] = {}, halves[TILES] = {};  // 16 and 8 pixels across, of four rows
  float x[PIXELS] = {}, next[PIXELS] = {};
  if (inside) read(first, next);
  for (int row = first; row < last + HALO; row++) {
#pragma unroll
    for (int i = 0; i < PIXELS; i++) x[i] = next[i];
    if (inside && row + 1 < last + HALO) read(row + 1, next);
    Moments<ORDER> *line = lines[(row - first) & 1] + t;
    line[0] = gather<ORDER>(x);
    __syncthreads();  // two lines: nobody reads any more from the one that is written next
    const Moments<ORDER> four[TILES] = {line[0], line[1], line[2], line[3]};
    const Moments<ORDER> two[2] = {four[0], four[1]};
#pragma unroll
    for (int i = 0; i < HALO; i++) strips[i] = strips[i + 1], halves[i] = halves[i + 1];
    strips[HALO] = merge<ORDER>(four, PIXELS);
    halves[HALO] = merge<ORDER>(two, PIXELS);
    if (row < first + HALO) continue;
    const Moments<ORDER> top[2] = {halves[0], halves[1]};
    write(row - HALO, merge<ORDER>(strips, TILES * PIXELS), merge<ORDER>(top, 2 * PIXELS));
  }
}
