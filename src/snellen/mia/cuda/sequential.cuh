// The columns of a pair by the same lanes, one after the other: no work is done twice. Spectra stay in
// the tile, where Z of the second column is kept conjugated and at the opposite frequency.
//
// The spectra of real rows are real in the columns 0 and WIDTH / 2; in half rows these are a and b, the upper
// half of a real column with its lower half as the imaginary part. In the tile a + i b and a − i b are in their
// places: so the two real columns are one complex column, which is packed and unpacked as those of any pair.
#pragma once

constexpr bool CLOSE = Down::V > 8;  // whether two columns are too much for a thread's registers

// Then few values are loaded at once: after value j.
__device__ __forceinline__ void few(int j) {
  if (CLOSE && j % 4 == 3) asm volatile("" ::: "memory");
}

// What the lanes of a column got, to the denominators of the Gaussian form.
__device__ __forceinline__ void keep(float2 *denominators, int x, const float2 (&s)[Down::V],
                                     float re, float im) {
#pragma unroll
  for (int j = 0; j < Down::V; j++)
    denominators[x * HEIGHT + Down::position(j)] =
        make_float2(re * s[j].x, im * s[j].y);
}

// A half row's a and b, doubled, of what lies in their places: by the lane that has both.
__device__ __forceinline__ void split(float2 (&v)[Half::V]) {
  float2 &a = v[0], &b = v[Half::V / 2];
  if (Half::lane() == 0) {
    const float2 difference = a - b;
    a = a + b, b = quarter<false>(difference);
  }
}

// What is to lie there, of a and b.
__device__ __forceinline__ void join(float2 (&v)[Half::V]) {
  float2 &a = v[0], &b = v[Half::V / 2];
  if (Half::lane() == 0) {
    const float2 turned = quarter<true>(b);
    b = a - turned, a = a + turned;
  }
}

// Two opposite frequencies of the real columns, for a lane: all of the warp that has these columns share them, or
// the block would wait for the few. 0 is with HEIGHT / 2, and each of these is its own opposite.
struct Opposites {
  static constexpr int ROUNDS = (HEIGHT / 2 + 31) / 32;
  int k, far;
  bool here;
  __device__ explicit Opposites(int round)
      : k(threadIdx.x % 32 + 32 * round), far(k ? HEIGHT - k : HEIGHT / 2), here(k < HEIGHT / 2) {}

  // The conjugates of what is opposite to a and b, the values at k and far.
  __device__ float2 of_near(float2 a, float2 b) const { return conj(k ? b : a); }
  __device__ float2 of_far(float2 a, float2 b) const { return conj(k ? a : b); }
};

// 2 F H of the two real columns, which become one; 4 F H when `split` has doubled them.
__device__ __forceinline__ void real_product(const Tile &tile) {
  const auto one = tile.columns_in(0), other = tile.columns_in(WIDTH / 2);
  const auto cells = tile.half_columns_exchange(Pair(0));
  auto half = [](float2 a, float2 b) { return make_float2(.5f * (a.x - b.y), .5f * (a.y + b.x)); };
#pragma unroll
  for (int c = 0; c < Opposites::ROUNDS; c++) {
    const Opposites at(c);
    if (!at.here) break;
    const float2 a = one.at(at.k), b = one.at(at.far), p = other.at(at.k), q = other.at(at.far);
    cells.at(at.k) = half(product(a, at.of_near(a, b)), product(p, at.of_near(p, q)));
    cells.at(at.far) = half(product(b, at.of_far(a, b)), product(q, at.of_far(p, q)));
  }
  __syncwarp();
}

// Along y, forward; the product; back along y.
__device__ __forceinline__ void columns(const Tile &tile, const Problem &problem, State &,
                                        const Both<Down> &all) {
  const auto &turns = all.in;
  for (int i = Down::line(); i < PAIRS; i += THREADS / Down::LANES) {
    const Pair pair(tile.column(i));
    const float sign = pair.real ? 1.f : -1.f;
    const auto one = tile.columns_in(pair.x), other = tile.columns_in(pair.partner);
    float2 v[Down::V], g[Down::V];
#pragma unroll
    for (int j = 0; j < Down::V; j++) v[j] = make_float2(other[j].x, sign * other[j].y);
    Down::transform<false>(v, tile.columns_exchange(pair.partner), turns);
#pragma unroll
    for (int j = 0; j < Down::V; j++) other[j] = v[j];
#pragma unroll
    for (int j = 0; j < Down::V; j++) v[j] = one[j];
    Down::transform<false>(v, tile.columns_exchange(pair.x), turns);
#pragma unroll
    for (int j = 0; j < Down::V; j++) one[j] = v[j];
    const float2 sums = Down::first(v[0]);
    if (pair.real) tile.tell(sums);  // Z(0, 0) = Σf + i Σh
    __syncwarp();  // one column and the other can be read
    const auto cells = tile.half_columns_exchange(pair);
    if (!GAUSSIAN && __any_sync(ALL, pair.real)) real_product(tile);
#pragma unroll
    for (int j = 0; j < Down::V; j++) {
      g[j] = product(v[j], other[j]);
      few(j);
    }
    if (pair.real)  // one warp has such
#pragma unroll
      for (int j = 0; j < Down::V; j++)
        g[j] = GAUSSIAN ? product(v[j], conj(one.at(Down::opposite(j)))) : cells[j];
    if (GAUSSIAN) {
      float2 s[Down::V];
#pragma unroll
      for (int j = 0; j < Down::V; j++) s[j] = correlated(g[j], v[j]);
      Down::transform<true>(s, cells, turns);
      keep(problem.denominators, pair.x, s, 1.f, 1.f);
#pragma unroll
      for (int j = 0; j < Down::V; j++) {
        const float2 u = other[j];
        s[j] = correlated(pair.real ? product(u, conj(other.at(Down::opposite(j)))) : g[j], u);
      }
      Down::transform<true>(s, cells, turns);
      keep(problem.denominators, pair.partner, s, sign, 1.f);
      if (pair.real)
#pragma unroll
        for (int j = 0; j < Down::V; j++) {
          const float2 b = product(other[j], conj(other.at(Down::opposite(j))));
          g[j] = make_float2(.5f * (g[j].x - b.y), .5f * (g[j].y + b.x));
        }
    }
    Down::transform<true>(g, cells, turns);
    const auto out = tile.to_half_rows(pair.x), far = tile.to_half_rows(pair.partner);
#pragma unroll
    for (int j = 0; j < Down::V / 2; j++) {
      const float2 upper = g[j], lower = g[j + Down::V / 2];  // rows y and y + HEIGHT / 2
      out[j] = make_float2(upper.x - lower.y, upper.y + lower.x);
      far[j] = make_float2(upper.x + lower.y, lower.x - upper.y);
    }
  }
}

// i R Z* of the two real columns. R is that of one column, R₀ + i R₁: in its place comes 1, and in that of Z
// what makes i R Z* of it.
__device__ __forceinline__ void real_corrections(const Tile &tile) {
  const auto one = tile.columns_in(0), other = tile.columns_in(WIDTH / 2);
  const auto cells = tile.half_columns_exchange(Pair(0));
  auto ready = [](float2 twice_r, float2 z) {
    const float2 s = correlated(twice_r, z);
    return make_float2(.5f * s.y, .5f * s.x);
  };
#pragma unroll 1  // else registers run out
  for (int c = 0; c < Opposites::ROUNDS; c++) {
    const Opposites at(c);
    if (!at.here) break;
    const float2 r = cells.at(at.k), s = cells.at(at.far);
    const float2 a = one.at(at.k), b = one.at(at.far), p = other.at(at.k), q = other.at(at.far);
    one.at(at.k) = ready(r + at.of_near(r, s), a);
    one.at(at.far) = ready(s + at.of_far(r, s), b);
    other.at(at.k) = ready(quarter<false>(r - at.of_near(r, s)), p);
    other.at(at.far) = ready(quarter<false>(s - at.of_far(r, s)), q);
    cells.at(at.k) = cells.at(at.far) = make_float2(1.f, 0.f);
  }
  __syncwarp();
}

// R along y; S = i R Z*, back along y.
__device__ __forceinline__ void corrections(const Tile &tile, State &, const Both<Down> &all) {
  const auto &turns = all.in;
  for (int i = Down::line(); i < PAIRS; i += THREADS / Down::LANES) {
    const Pair pair(tile.column(i));
    float2 r[Down::V];
    const auto one = tile.half_columns_in(pair.x), other = tile.half_columns_in(pair.partner);
    unpack(r, one, other);
    const auto cells = tile.half_columns_exchange(pair);
    Down::transform<false>(r, cells, turns);
    const bool some = __any_sync(ALL, pair.real);
    if (CLOSE || some)
#pragma unroll
      for (int j = 0; j < Down::V; j++) cells[j] = r[j];
    __syncwarp();
    if (some) {
      real_corrections(tile);
      if (!CLOSE)
#pragma unroll
        for (int j = 0; j < Down::V; j++) r[j] = cells[j];
    }
#pragma unroll 1
    for (int second = 0; second < 2; second++) {
      const int x = second ? pair.partner : pair.x;
      const auto z = tile.columns_in(x);
      float2 s[Down::V];
#pragma unroll
      for (int j = 0; j < Down::V; j++) {
        s[j] = correlated(CLOSE ? float2(cells[j]) : r[j], z[j]);
        few(j);
      }
      Down::transform<true>(s, tile.columns_exchange(x), turns);
      const auto out = tile.to_rows(x);
      const float sign = second && !pair.real ? -1.f : 1.f;
#pragma unroll
      for (int j = 0; j < Down::V; j++) out[j] = make_float2(sign * s[j].x, s[j].y);
    }
  }
}
