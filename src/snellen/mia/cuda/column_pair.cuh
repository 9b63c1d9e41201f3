// Pairs of columns, and the products of their spectra. The columns x and WIDTH − x form a pair, and
// so do 0 and WIDTH / 2, whose spectra after the pass along x are those of real columns. The second
// column of a pair is transformed as its conjugate, which yields the conjugate of its spectrum at
// the opposite frequency: a frequency and its opposite are in the same register of the same lane.
#pragma once

struct Pair {
  int x, partner;  // the first column and the second one
  bool real;       // whether these are the columns 0 and WIDTH / 2
  __device__ explicit Pair(int x) : x(x), partner(x ? WIDTH - x : WIDTH / 2), real(x == 0) {}
};

// Returns 4 F H of Z and the conjugate of Z at the opposite frequency.
__device__ __forceinline__ float2 product(float2 z, float2 opposite) {
  return rotate_quarter<false>((z + opposite) * (z - opposite));
}

// Returns i R Z*, the spectrum of corr(r, h) + i corr(r, f).
__device__ __forceinline__ float2 correlated(float2 r, float2 z) {
  return make_float2(fmaf(r.x, z.y, -r.y * z.x), fmaf(r.x, z.x, r.y * z.y));
}

// Separates what the half-row pass packed: r gets twice the first column of a pair, for the real
// rows y and y + HEIGHT / 2 that were transformed along x as one complex line.
template <class Column>
__device__ __forceinline__ void unpack(float2 (&r)[ColumnLine::V], const Column &one,
                                       const Column &other) {
#pragma unroll
  for (int j = 0; j < ColumnLine::V / 2; j++) {
    const float2 a = one[j], b = other[j];
    r[j] = make_float2(a.x + b.x, a.y - b.y);
    r[j + ColumnLine::V / 2] = make_float2(a.y + b.y, b.x - a.x);
  }
}
