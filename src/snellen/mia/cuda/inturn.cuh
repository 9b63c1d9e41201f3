// The columns of a pair by the same lanes, one after the other: no work is done twice. Spectra stay in
// the tile, where Z of the second column is kept conjugated and at the opposite frequency.
#pragma once

// What the lanes of a column got, to the denominators of the Gaussian form.
__device__ __forceinline__ void keep(float2 *denominators, int x, const float2 (&s)[Down::V],
                                     float re, float im) {
#pragma unroll
  for (int j = 0; j < Down::V; j++)
    denominators[x * HEIGHT + Down::position(j)] =
        make_float2(re * s[j].x, im * s[j].y);
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
#pragma unroll
    for (int j = 0; j < Down::V; j++) {
      g[j] = product(v[j], pair.real ? conj(one.at(Down::opposite(j))) : other[j]);
      if (j % 4 == 3) asm volatile("" ::: "memory");
    }
    if (GAUSSIAN) {
      float2 s[Down::V];
#pragma unroll
      for (int j = 0; j < Down::V; j++) s[j] = correlated(g[j], v[j]);
      Down::transform<true>(s, tile.half_columns_exchange(pair), turns);
      keep(problem.denominators, pair.x, s, 1.f, 1.f);
#pragma unroll
      for (int j = 0; j < Down::V; j++) {
        const float2 u = other[j];
        s[j] = correlated(pair.real ? product(u, conj(other.at(Down::opposite(j)))) : g[j], u);
      }
      Down::transform<true>(s, tile.half_columns_exchange(pair), turns);
      keep(problem.denominators, pair.partner, s, sign, 1.f);
    }
    if (pair.real)
#pragma unroll
      for (int j = 0; j < Down::V; j++)
        g[j] = g[j] + quarter<true>(product(other[j], conj(other.at(Down::opposite(j)))));
    Down::transform<true>(g, tile.half_columns_exchange(pair), turns);
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

// The spectrum of the first or second of two real columns that were transformed as one.
__device__ __forceinline__ float2 part(float2 r, float2 opposite, bool second) {
  const float2 half = make_float2(.5f * r.x, .5f * r.y), far = make_float2(.5f * opposite.x, -.5f * opposite.y);
  return second ? quarter<false>(half - far) : half + far;
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
#pragma unroll
    for (int j = 0; j < Down::V; j++) cells[j] = r[j];
    __syncwarp();
#pragma unroll 1
    for (int second = 0; second < 2; second++) {
      const int x = second ? pair.partner : pair.x;
      const auto z = tile.columns_in(x);
#pragma unroll
      for (int j = 0; j < Down::V; j++) {
        r[j] = cells[j];
        if (pair.real) r[j] = part(r[j], cells.at(Down::opposite(j)), second);
        r[j] = correlated(r[j], z[j]);
        if (j % 4 == 3) asm volatile("" ::: "memory");
      }
      Down::transform<true>(r, tile.columns_exchange(x), turns);
      const auto out = tile.to_rows(x);
      const float sign = second && !pair.real ? -1.f : 1.f;
#pragma unroll
      for (int j = 0; j < Down::V; j++) out[j] = make_float2(sign * r[j].x, r[j].y);
    }
  }
}
