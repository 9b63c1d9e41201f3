// The mask of visible errors, from statistics of blocks of the filtered planes.
//
// Who holds what: a warp moves down a strip of 32 tiles of 4 × 4 pixels (moments.cuh), one lane for each
// tile across, all in registers; each pixel is read once. Barriers: none; lanes use shuffles.
#include "moments.cuh"

// A tile of a real plane.
struct Tile {
  REAL of[PIXELS];
};

// Calls `write(row, column, block, quarter)` with the moments of each block of this warp and of its
// top left 8 × 8 pixels.
template <typename Write>
__device__ __forceinline__ void for_each_block(const REAL *plane, int width, int rows, int columns,
                                               int rows_each, Write write) {
  const Strip strip(rows, columns, rows_each);
  march<2>(
      strip,
      [&](int row) {
        const REAL *corner = plane + (size_t)row * STEP * width + strip.column * STEP;
        Tile tile;
#pragma unroll
        for (int i = 0; i < PIXELS; i++)
          tile.of[i] = __ldg(corner + (size_t)(i / STEP) * width + i % STEP);
        return tile;
      },
      [](const Tile &tile) { return moments_of<2>(tile.of); },
      [&](int row, const Moments<2> &block, const Moments<2> &quarter) {
        write(row, strip.column, block, quarter);
      });
}

// Computes, of the filtered reference, the mean of each block and the deviation of its top left 8 × 8.
extern "C" __global__ void __launch_bounds__(THREADS)
    describe(const REAL *__restrict__ plane, int width, int rows, int columns, int rows_each,
             const REAL *__restrict__ level, REAL *__restrict__ mean,
             REAL *__restrict__ deviation) {
  const REAL base = FLAT * level[1];  // the filter's response to the level that was subtracted
  for_each_block(plane, width, rows, columns, rows_each,
                 [&](int row, int column, const Moments<2> &block, const Moments<2> &quarter) {
                   const size_t here = (size_t)row * columns + column;
                   mean[here] = base + block.mean;
                   deviation[here] = sqrt(quarter.power[0] / (4 * PIXELS - 1));
                 });
}

// Returns the least deviation of the block's 8 × 8 pixels and of those PROBE pixels right, down and
// both; a probe counts where its position is less than the plane's size − 15.
__device__ __forceinline__ REAL least(const REAL *deviation, int row, int column, int columns,
                                      int width, int height) {
  const REAL *here = deviation + (size_t)row * columns + column;
  const bool right = column * STEP + PROBE < width - 15, down = row * STEP + PROBE < height - 15;
  REAL found = here[0];
  if (right) found = min(found, here[1]);
  if (down) found = min(found, here[columns]);
  if (right && down) found = min(found, here[columns + 1]);
  return found;
}

// Computes the mask: by how much the log contrast of the filtered error exceeds the masking threshold,
// or 0 where the error is invisible.
extern "C" __global__ void __launch_bounds__(THREADS)
    visibility(const REAL *__restrict__ error, int width, int height, int rows, int columns,
               int rows_each, const REAL *__restrict__ mean, const REAL *__restrict__ deviation,
               REAL *__restrict__ mask) {
  for_each_block(
      error, width, rows, columns, rows_each,
      [&](int row, int column, const Moments<2> &block, const Moments<2> &) {
        const size_t here = (size_t)row * columns + column;
        const REAL m = mean[here];
        const REAL threshold = log(least(deviation, row, column, columns, width, height) / m);
        const REAL over = log(sqrt(block.power[0] / (BLOCK - 1)) / m) - max(threshold, THRESHOLD);
        mask[here] = m >= GATE && over > 0 ? over : 0;
      });
}
