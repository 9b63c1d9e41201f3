// The two passes along columns, with the columns of a pair one after the other on the same lanes
// (columns sequential): least work, for many pictures.
//
// Who holds what: spectra stay in the tile. Z of a pair's second column is stored conjugated and at
// the opposite frequency, so that both values which `product` needs are at the same index.
//
// After the pass along x the columns 0 and WIDTH / 2 are the spectra of real rows, so they are real
// themselves. In half rows they are a and b, the upper half of a real column with its lower half as
// imaginary part. In the tile a + i b and a − i b stand in their stead: the two real columns are
// one complex column, which is packed and unpacked as that of any pair.
//
// Barriers: a pair of columns belongs to one warp, so that __syncwarp suffices within the passes.
#pragma once

// Whether two columns of a pair are more than the registers of a thread hold.
constexpr bool REGISTERS_SHORT = ColumnLine::V > 8;

// Keeps the compiler from loading more than four values ahead where registers are short; called
// after value j.
__device__ __forceinline__ void limit_loads(int j) {
  if (REGISTERS_SHORT && j % 4 == 3) asm volatile("" ::: "memory");
}

// Stores a column of the denominators of Gaussian noise.
__device__ __forceinline__ void store_denominators(float2 *denominators, int x,
                                                   const float2 (&s)[ColumnLine::V], float re,
                                                   float im) {
#pragma unroll
  for (int j = 0; j < ColumnLine::V; j++)
    denominators[x * HEIGHT + ColumnLine::position(j)] = make_float2(re * s[j].x, im * s[j].y);
}

// Replaces a + i b and a − i b in a half row by 2 a and 2 b: the lane that holds both does it.
__device__ __forceinline__ void split_real_columns(float2 (&v)[HalfRowLine::V]) {
  float2 &a = v[0], &b = v[HalfRowLine::V / 2];
  if (HalfRowLine::lane() == 0) {
    const float2 difference = a - b;
    a = a + b, b = rotate_quarter<false>(difference);
  }
}

// Replaces a and b in a half row by a + i b and a − i b.
__device__ __forceinline__ void join_real_columns(float2 (&v)[HalfRowLine::V]) {
  float2 &a = v[0], &b = v[HalfRowLine::V / 2];
  if (HalfRowLine::lane() == 0) {
    const float2 ib = rotate_quarter<true>(b);
    b = a - ib, a = a + ib;
  }
}

// Two opposite frequencies of the real columns, for one lane. All lanes of the warp that holds
// these columns share the frequencies; otherwise the block would wait for the few that own the
// columns. The frequencies 0 and HEIGHT / 2 go together, and each of these is its own opposite.
struct Opposites {
  static constexpr int ROUNDS = (HEIGHT / 2 + 31) / 32;
  int k, far;
  bool active;
  __device__ explicit Opposites(int round)
      : k(threadIdx.x % 32 + 32 * round),
        far(k ? HEIGHT - k : HEIGHT / 2),
        active(k < HEIGHT / 2) {}

  // For the values a at k and b at far: the conjugates of the values opposite to a and to b.
  __device__ float2 of_near(float2 a, float2 b) const { return conj(k ? b : a); }
  __device__ float2 of_far(float2 a, float2 b) const { return conj(k ? a : b); }
};

// Computes the products of the two real columns, which become one complex column: 2 F H, which
// `split_real_columns` doubles later.
__device__ __forceinline__ void real_product(const Tile &tile) {
  const auto one = tile.columns_in(0), other = tile.columns_in(WIDTH / 2);
  const auto column = tile.half_column_exchange(Pair(0));
  auto half = [](float2 a, float2 b) { return make_float2(.5f * (a.x - b.y), .5f * (a.y + b.x)); };
#pragma unroll
  for (int c = 0; c < Opposites::ROUNDS; c++) {
    const Opposites at(c);
    if (!at.active) break;
    const float2 a = one.at(at.k), b = one.at(at.far), p = other.at(at.k), q = other.at(at.far);
    column.at(at.k) = half(product(a, at.of_near(a, b)), product(p, at.of_near(p, q)));
    column.at(at.far) = half(product(b, at.of_far(a, b)), product(q, at.of_far(p, q)));
  }
  __syncwarp();
}

// Z forward along y; 4 F H; inverse along y, and on to the half rows.
__device__ __forceinline__ void columns(const Tile &tile, const Problem &problem, State &,
                                        const StepTwiddles<ColumnLine> &step_twiddles) {
  const auto &twiddles = step_twiddles.begin;
  for (int i = ColumnLine::line(); i < PAIRS; i += THREADS / ColumnLine::LANES) {
    const Pair pair(tile.column(i));
    const float sign = pair.real ? 1.f : -1.f;
    const auto one = tile.columns_in(pair.x), other = tile.columns_in(pair.partner);
    float2 v[ColumnLine::V], g[ColumnLine::V];
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) v[j] = make_float2(other[j].x, sign * other[j].y);
    ColumnLine::transform<false>(v, tile.column_exchange(pair.partner), twiddles);
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) other[j] = v[j];
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) v[j] = one[j];
    ColumnLine::transform<false>(v, tile.column_exchange(pair.x), twiddles);
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) one[j] = v[j];
    const float2 sums = ColumnLine::first(v[0]);
    if (pair.real) tile.share_sums(sums);  // Z(0, 0) = Σf + i Σh
    __syncwarp();                          // from here on other lanes may read both columns
    const auto column = tile.half_column_exchange(pair);
    if (!GAUSSIAN && __any_sync(ALL, pair.real)) real_product(tile);
#pragma unroll
    for (int j = 0; j < ColumnLine::V; j++) {
      g[j] = product(v[j], other[j]);
      limit_loads(j);
    }
    if (pair.real)  // in one warp only
#pragma unroll
      for (int j = 0; j < ColumnLine::V; j++)
        g[j] = GAUSSIAN ? product(v[j], conj(one.at(ColumnLine::opposite(j)))) : column[j];
    if (GAUSSIAN) {  // the spectra of the denominators of both columns, inverse along y
      float2 s[ColumnLine::V];
#pragma unroll
      for (int j = 0; j < ColumnLine::V; j++) s[j] = correlated(g[j], v[j]);
      ColumnLine::transform<true>(s, column, twiddles);
      store_denominators(problem.denominators, pair.x, s, 1.f, 1.f);
#pragma unroll
      for (int j = 0; j < ColumnLine::V; j++) {
        const float2 u = other[j];
        s[j] =
            correlated(pair.real ? product(u, conj(other.at(ColumnLine::opposite(j)))) : g[j], u);
      }
      ColumnLine::transform<true>(s, column, twiddles);
      store_denominators(problem.denominators, pair.partner, s, sign, 1.f);
      if (pair.real)
#pragma unroll
        for (int j = 0; j < ColumnLine::V; j++) {
          const float2 b = product(other[j], conj(other.at(ColumnLine::opposite(j))));
          g[j] = make_float2(.5f * (g[j].x - b.y), .5f * (g[j].y + b.x));
        }
    }
    ColumnLine::transform<true>(g, column, twiddles);
    const auto out = tile.to_half_rows(pair.x), far = tile.to_half_rows(pair.partner);
#pragma unroll
    for (int j = 0; j < ColumnLine::V / 2; j++) {  // row y + i · row y + HEIGHT / 2
      const float2 upper = g[j], lower = g[j + ColumnLine::V / 2];
      out[j] = make_float2(upper.x - lower.y, upper.y + lower.x);
      far[j] = make_float2(upper.x + lower.y, lower.x - upper.y);
    }
  }
}

// Computes i R Z* of the two real columns. R of both comes as one column R₀ + i R₁; it is replaced
// by 1, and Z is replaced such that `correlated` of the two gives i R Z*, so that the loop of
// `corrections` treats these columns as all others.
__device__ __forceinline__ void real_corrections(const Tile &tile) {
  const auto one = tile.columns_in(0), other = tile.columns_in(WIDTH / 2);
  const auto column = tile.half_column_exchange(Pair(0));
  auto replaced = [](float2 twice_r, float2 z) {
    const float2 s = correlated(twice_r, z);
    return make_float2(.5f * s.y, .5f * s.x);
  };
#pragma unroll 1  // unrolled, it takes more registers than there are
  for (int c = 0; c < Opposites::ROUNDS; c++) {
    const Opposites at(c);
    if (!at.active) break;
    const float2 r = column.at(at.k), s = column.at(at.far);
    const float2 a = one.at(at.k), b = one.at(at.far), p = other.at(at.k), q = other.at(at.far);
    one.at(at.k) = replaced(r + at.of_near(r, s), a);
    one.at(at.far) = replaced(s + at.of_far(r, s), b);
    other.at(at.k) = replaced(rotate_quarter<false>(r - at.of_near(r, s)), p);
    other.at(at.far) = replaced(rotate_quarter<false>(s - at.of_far(r, s)), q);
    column.at(at.k) = column.at(at.far) = make_float2(1.f, 0.f);
  }
  __syncwarp();
}

// R forward along y; S = i R Z*; inverse along y, and on to the rows.
__device__ __forceinline__ void corrections(const Tile &tile, State &,
                                            const StepTwiddles<ColumnLine> &step_twiddles) {
  const auto &twiddles = step_twiddles.begin;
  for (int i = ColumnLine::line(); i < PAIRS; i += THREADS / ColumnLine::LANES) {
    const Pair pair(tile.column(i));
    float2 r[ColumnLine::V];
    const auto one = tile.half_columns_in(pair.x), other = tile.half_columns_in(pair.partner);
    unpack(r, one, other);
    const auto column = tile.half_column_exchange(pair);
    ColumnLine::transform<false>(r, column, twiddles);
    const bool any_real = __any_sync(ALL, pair.real);
    if (REGISTERS_SHORT || any_real)
#pragma unroll
      for (int j = 0; j < ColumnLine::V; j++) column[j] = r[j];
    __syncwarp();
    if (any_real) {
      real_corrections(tile);
      if (!REGISTERS_SHORT)
#pragma unroll
        for (int j = 0; j < ColumnLine::V; j++) r[j] = column[j];
    }
#pragma unroll 1
    for (int second = 0; second < 2; second++) {
      const int x = second ? pair.partner : pair.x;
      const auto z = tile.columns_in(x);
      float2 s[ColumnLine::V];
#pragma unroll
      for (int j = 0; j < ColumnLine::V; j++) {
        s[j] = correlated(REGISTERS_SHORT ? float2(column[j]) : r[j], z[j]);
        limit_loads(j);
      }
      ColumnLine::transform<true>(s, tile.column_exchange(x), twiddles);
      const auto out = tile.to_rows(x);
      const float sign = second && !pair.real ? -1.f : 1.f;
#pragma unroll
      for (int j = 0; j < ColumnLine::V; j++) out[j] = make_float2(sign * s[j].x, s[j].y);
    }
  }
}
