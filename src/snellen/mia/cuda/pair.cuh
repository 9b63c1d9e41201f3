// Columns go in pairs: x and −x; and 0 and WIDTH / 2, whose spectra are those of real columns: two of
// these become one complex column. The second of a pair is transformed as its conjugate, which gives
// the conjugate of its spectrum at the opposite frequency, so that a frequency and its opposite are in
// the same register of the same lane.
#pragma once

struct Pair {
  int x, partner;
  bool real;
  __device__ explicit Pair(int x) : x(x), partner(x ? WIDTH - x : WIDTH / 2), real(x == 0) {}
};

// 4 F H of Z and the conjugate of Z at the opposite frequency.
__device__ __forceinline__ float2 product(float2 z, float2 opposite) {
  return quarter<false>((z + opposite) * (z - opposite));
}

// i R Z*, what goes back to corr(r, h) + i corr(r, f).
__device__ __forceinline__ float2 correlated(float2 r, float2 z) {
  return make_float2(fmaf(r.x, z.y, -r.y * z.x), fmaf(r.x, z.x, r.y * z.y));
}

// Twice a column, of real rows y and y + HEIGHT / 2 that were transformed as one complex row; two real
// columns become one.
template <class Place>
__device__ __forceinline__ void unpack(float2 (&r)[Down::V], const Place &one, const Place &other,
                                       bool real) {
#pragma unroll
  for (int j = 0; j < Down::V / 2; j++) {
    const float2 a = one[j], b = other[j];
    r[j] = make_float2(a.x + b.x, a.y - b.y);
    r[j + Down::V / 2] = make_float2(a.y + b.y, b.x - a.x);
  }
  if (real)  // few warps have such
#pragma unroll
    for (int j = 0; j < Down::V / 2; j++) {
      const float2 a = one[j], b = other[j];
      r[j] = make_float2(2.f * a.x, 2.f * b.x);
      r[j + Down::V / 2] = make_float2(2.f * a.y, 2.f * b.y);
    }
}

// The spectrum of the first or second of two real columns that were transformed as one.
__device__ __forceinline__ float2 part(float2 r, float2 opposite, bool second) {
  const float2 half = make_float2(.5f * r.x, .5f * r.y), far = make_float2(.5f * opposite.x, -.5f * opposite.y);
  return second ? quarter<false>(half - far) : half + far;
}
