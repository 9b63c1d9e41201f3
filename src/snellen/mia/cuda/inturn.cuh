// The columns of a pair by the same lanes, one after the other: no work is done twice. Spectra stay in
// the tile, where Z of the second column is kept conjugated and at the opposite frequency.
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

// 4 F H of the two real columns, which become one: by all lanes of the warp that has them, or the block
// would wait for the few.
__device__ __forceinline__ void real_product(const Tile &tile) {
  const auto one = tile.columns_in(0), other = tile.columns_in(WIDTH / 2);
  const auto cells = tile.half_columns_exchange(Pair(0));
  for (int k = threadIdx.x % 32; k < HEIGHT; k += 32) {
    const int opposite = -k & (HEIGHT - 1);
    cells.at(k) = product(one.at(k), conj(one.at(opposite))) +
                  quarter<true>(product(other.at(k), conj(other.at(opposite))));
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
    if (pair.real)
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
        for (int j = 0; j < Down::V; j++)
          g[j] = g[j] + quarter<true>(product(other[j], conj(other.at(Down::opposite(j)))));
    }
    Down::transform<true>(g, cells, turns);
    const auto out = tile.to_half_rows(pair.x), far = tile.to_half_rows(pair.partner);
#pragma unroll
    for (int j = 0; j < Down::V / 2; j++) {
      const float2 upper = g[j], lower = g[j + Down::V / 2];  // rows y and y + HEIGHT / 2
      out[j] = make_float2(upper.x - lower.y, upper.y + lower.x);
      far[j] = make_float2(upper.x + lower.y, lower.x - upper.y);
    }
    if (pair.real)  // few warps have such
#pragma unroll
      for (int j = 0; j < Down::V / 2; j++) {
        out[j] = make_float2(g[j].x, g[j + Down::V / 2].x);
        far[j] = make_float2(g[j].y, g[j + Down::V / 2].y);
      }
  }
}

// i R Z* of the two real columns, likewise: in place of Z. R is that of one column, R₀ + i R₁.
__device__ __forceinline__ void real_corrections(const Tile &tile) {
  const auto one = tile.columns_in(0), other = tile.columns_in(WIDTH / 2);
  const auto cells = tile.half_columns_exchange(Pair(0));
  for (int k = threadIdx.x % 32; k < HEIGHT; k += 32) {
    const float2 r = cells.at(k), far = conj(cells.at(-k & (HEIGHT - 1)));
    const float2 twice = r + far, other_twice = quarter<false>(r - far);
    one.at(k) = correlated(make_float2(.5f * twice.x, .5f * twice.y), one.at(k));
    other.at(k) = correlated(make_float2(.5f * other_twice.x, .5f * other_twice.y), other.at(k));
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
    if (pair.real)  // two real columns become one; few warps have such
#pragma unroll
      for (int j = 0; j < Down::V / 2; j++) {
        const float2 a = one[j], b = other[j];
        r[j] = make_float2(2.f * a.x, 2.f * b.x);
        r[j + Down::V / 2] = make_float2(2.f * a.y, 2.f * b.y);
      }
    const auto cells = tile.half_columns_exchange(pair);
    Down::transform<false>(r, cells, turns);
    const bool some = __any_sync(ALL, pair.real);
    if (CLOSE || some)
#pragma unroll
      for (int j = 0; j < Down::V; j++) cells[j] = r[j];
    __syncwarp();
    if (some) real_corrections(tile);
#pragma unroll 1
    for (int second = 0; second < 2; second++) {
      const int x = second ? pair.partner : pair.x;
      const auto z = tile.columns_in(x);
      float2 s[Down::V];
      if (pair.real)
#pragma unroll
        for (int j = 0; j < Down::V; j++) s[j] = z[j];
      else
#pragma unroll
        for (int j = 0; j < Down::V; j++) {
          s[j] = correlated(CLOSE ? cells[j] : r[j], z[j]);
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
