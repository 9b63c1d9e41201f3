// Columns go in pairs: x and −x; and 0 and WIDTH / 2, whose spectra are those of real columns. The second
// of a pair is transformed as its conjugate, which gives the conjugate of its spectrum at the opposite
// frequency, so that a frequency and its opposite are in the same register of the same lane.
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

// Twice a column, of real rows y and y + HEIGHT / 2 that were transformed as one complex row.
template <class Place>
__device__ __forceinline__ void unpack(float2 (&r)[Down::V], const Place &one, const Place &other) {
#pragma unroll
  for (int j = 0; j < Down::V / 2; j++) {
    const float2 a = one[j], b = other[j];
    r[j] = make_float2(a.x + b.x, a.y - b.y);
    r[j + Down::V / 2] = make_float2(a.y + b.y, b.x - a.x);
  }
}
