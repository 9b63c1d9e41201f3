// The pass along half rows: two real rows y and y + HEIGHT / 2 as one complex line. Inverse along x
// they are g, which is compared with the observed picture; the result goes forward along x.
//
// Who holds what: a thread has V pairs of samples of one half row; its samples of the observed picture
// are cached in registers or read from y.
//
// Barriers: it begins with wait_transpose<1>; within, those of the line.
#pragma once

// Returns what R is the spectrum of: the ratio of the observed y and g, both with the variance of
// the read noise added; with Gaussian noise, y itself. Where nothing was observed, y counts as g.
__device__ __forceinline__ float data_term(float y, float g, float variance) {
  if (GAUSSIAN) return y < 0.f ? g : y;
  const float below = fmaxf(g + variance, EPSILON);
  return quotient(y < 0.f ? below : y + variance, below);
}

// Reads the rows y and y + HEIGHT / 2 of the observed picture, for line i of the pass.
__device__ __forceinline__ void load_image(const Tile &tile, const float *picture, int i,
                                           float2 *image) {
  if (i >= HALF_ROWS) return;
#pragma unroll
  for (int j = 0; j < HalfRowLine::V; j++) {
    const int at = pixel<HalfRowLine>(tile.half_row(i), j);
    image[j] = make_float2(picture[at], picture[at + PIXELS / 2]);
  }
}

// Transforms line i of the half rows inverse along x, which gives g; v gets the ratio.
__device__ __forceinline__ void ratio(const Tile &tile, const float *picture, float variance,
                                      float scale, int i, const State &state,
                                      const TwiddlesOf<HalfRowLine>::Type &twiddles,
                                      float2 (&v)[HalfRowLine::V]) {
  const int y = tile.half_row(i);
  const auto in = tile.half_rows_in(y);
  const auto exchange = tile.half_row_exchange(y);
  float2 image[HalfRowLine::V];
#pragma unroll
  for (int j = 0; j < HalfRowLine::V; j++) v[j] = in[j];
  split_real_columns(v);
  HalfRowLine::begin<true>(v, exchange, twiddles);
  // Loaded while the values are in the exchange memory, when most registers are free.
  if (!IMAGE_IN_REGISTERS) load_image(tile, picture, i, image);
  __syncwarp();
  HalfRowLine::finish<true>(v, exchange, twiddles);
  __syncwarp();
#pragma unroll
  for (int j = 0; j < HalfRowLine::V; j++) {
    const float2 observed = IMAGE_IN_REGISTERS ? state.image[IMAGE_IN_REGISTERS ? j : 0] : image[j];
    v[j] = make_float2(data_term(observed.x, v[j].x * scale, variance),
                       data_term(observed.y, v[j].y * scale, variance));
  }
}

// Inverse along x: g; the ratio; forward along x, and on to the columns.
__device__ __forceinline__ void half_rows(const Tile &tile, const float *picture, float variance,
                                          int step, const State &state,
                                          const StepTwiddles<HalfRowLine, HalfRowEnd> &twiddles) {
  constexpr int LINES = THREADS / HalfRowLine::LANES;
  constexpr bool IDLE = HALF_ROWS < LINES;  // whether some threads have no half row
  tile.wait_transpose<1>(step);
  const float scale = quotient(.25f / PIXELS, fmaxf(tile.total->y, TINY));
  for (int i = HalfRowLine::line(); IDLE || i < HALF_ROWS; i += LINES) {
    const bool active = !IDLE || i < HALF_ROWS;
    const int end = tile.half_row(i - HalfRowLine::line() + HalfRowEnd::line());
    float2 v[HalfRowLine::V];
    if (active) ratio(tile, picture, variance, scale, i, state, twiddles.begin, v);
    transform_across_lanes<HalfRowLine, HalfRowEnd, false, (HALF_ROWS > LINES)>(
        v, tile.half_row_exchange(tile.half_row(i)), tile.half_row_exchange_end(end), twiddles,
        active);
    if (!active) break;
    join_real_columns(v);
    const auto out = tile.to_half_columns(end);
#pragma unroll
    for (int j = 0; j < HalfRowLine::V; j++) out[j] = v[j];
    if (IDLE || IMAGE_IN_REGISTERS) break;
  }
}
