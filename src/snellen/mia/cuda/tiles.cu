// Tiles: cut out of pictures before the iterations, and blended into pictures after them. tiles.py
// has the definitions.
//
// Who holds what: everything is in global memory. A thread has one sample of one plane after
// another, as there may be more planes than a grid has rows.
//
// Barriers: __syncthreads_or in `cut_tiles`, which all threads of a block reach. Results have the
// same bits in each run, and those of NumPy: products and sums are rounded one by one, in the order
// of the tiles.
__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float plus(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float over(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ double over(double a, double b) { return __ddiv_rn(a, b); }

// Returns a sample as a float, black being 0 and white 1. Code values below black become 0.
__device__ __forceinline__ REAL scaled(SAMPLE sample, REAL black, REAL range) {
  const REAL value = over(plus(REAL(sample), -black), range);
  return CODES && !(value > 0) ? REAL(0) : value;
}

// Cuts down · across tiles out of planes (pictures, frames, height, width): (pictures · tiles,
// frames, rows, columns). Unless these are null, `firsts` gets the first value of each tile, and
// behind all of them that of each picture; `differs` gets 1 where not all values are the same.
extern "C" __global__ void __launch_bounds__(THREADS)
    cut_tiles(const SAMPLE *__restrict__ planes, int pictures, int frames, int height, int width,
              const int *__restrict__ tops, const int *__restrict__ lefts, int down, int across,
              int rows, int columns, REAL black, REAL range, REAL *__restrict__ out,
              REAL *__restrict__ firsts, int *__restrict__ differs) {
  const int k = blockIdx.x * THREADS + threadIdx.x, size = rows * columns;
  const int row = k / columns, column = k % columns, tiles = down * across;
  const size_t whole = (size_t)height * width;
  for (int tile = blockIdx.y; tile < pictures * tiles; tile += gridDim.y) {
    const int number = tile % tiles, picture = tile / tiles;
    const SAMPLE *from = planes + picture * frames * whole;
    const size_t corner = (size_t)tops[number / across] * width + lefts[number % across];
    const size_t at = corner + (size_t)row * width + column;
    const REAL first = scaled(from[corner], black, range), start = scaled(from[0], black, range);
    bool two = false, more = false;
    for (int m = 0; k < size && m < frames; m++) {
      const REAL value = scaled(from[m * whole + at], black, range);
      out[((size_t)tile * frames + m) * size + k] = value;
      two |= value != first;
      more |= value != start;
    }
    if (!differs) continue;
    const int behind = pictures * tiles + picture;
    two = __syncthreads_or(two), more = __syncthreads_or(more);
    if (threadIdx.x) continue;
    if (two) differs[tile] = 1;
    if (more) differs[behind] = 1;
    if (blockIdx.x == 0) firsts[tile] = first;
    if (blockIdx.x == 0 && number == 0) firsts[behind] = start;
  }
}

// Blends tiles (pictures · tiles, rows, columns) into planes (pictures, height, width): the sum of
// the tiles at each sample, times their weights across and down. `first_down` and `first_across`
// say which is the first of the tiles that reach a row or a column. With `differs`, negative values
// become 0, and a tile or picture of one value keeps it to the last bit.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
    merge_tiles(const REAL *__restrict__ tiles, int pictures, int height, int width,
                const int *__restrict__ tops, const int *__restrict__ lefts, int down, int across,
                int rows, int columns, const int *__restrict__ first_down,
                const int *__restrict__ first_across, const double *__restrict__ vertical,
                const double *__restrict__ horizontal, const REAL *__restrict__ firsts,
                const int *__restrict__ differs, REAL factor, REAL offset, REAL most,
                OUT *__restrict__ out) {
  const int k = blockIdx.x * THREADS + threadIdx.x, size = height * width;
  if (k >= size) return;
  const int y = k / width, x = k % width, count = down * across;
  for (int picture = blockIdx.y; picture < pictures; picture += gridDim.y) {
    REAL sum = 0;
#pragma unroll 1
    for (int i = first_down[y]; i < down && tops[i] <= y; i++) {
#pragma unroll 1
      for (int j = first_across[x]; j < across && lefts[j] <= x; j++) {
        const int row = y - tops[i], column = x - lefts[j];
        const int tile = picture * count + i * across + j;
        const REAL weight =
            REAL(times(vertical[i * rows + row], horizontal[j * columns + column]));
        REAL value = tiles[((size_t)tile * rows + row) * columns + column];
        if (differs) value = differs[tile] ? (value < 0 ? REAL(0) : value) : firsts[tile];
        sum = plus(sum, times(weight, value));
      }
    }
    const int behind = pictures * count + picture;
    if (differs && !differs[behind]) sum = firsts[behind];
    if (ROUNDED) {
      sum = plus(times(sum, factor), offset);
      sum = rint(sum > 0 ? (sum < most ? sum : most) : REAL(0));
    }
    out[(size_t)picture * size + k] = (OUT)sum;
  }
}
