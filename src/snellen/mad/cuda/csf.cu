// Multiplies the half spectrum of a real plane by the eye's contrast sensitivity, in place.
//
// Who holds what: one thread per frequency; barriers: none.
//
// MAD takes the real part of the filtered plane. The sensitivity differs slightly between k and −k,
// because Larson & Chandler's code samples it half a step off. The mean of both gives that real part,
// so the product is again the spectrum of a real plane.

// Returns the sensitivity at row j, column l of a spectrum whose corner is the zero frequency. Both axes
// are divided by the width, as in the authors' code.
__device__ __forceinline__ REAL sensitivity(int j, int l, int height, int width) {
  int row = j + height / 2, column = l + width / 2;
  if (row >= height) row -= height;
  if (column >= width) column -= width;
  const REAL u = (row - REAL(.5) * height + REAL(.5)) / width * PER_DEGREE;
  const REAL v = (column - REAL(.5) * width + REAL(.5)) / width * PER_DEGREE;
  const REAL square = u * u + v * v, c = square > 0 ? u * u / square : 1;  // cos² of the angle
  const REAL s = (1 - W) / 2 * (8 * c * (c - 1) + 1) + (1 + W) / 2;
  const REAL f = sqrt(square) / s;
  if (f < FLAT_BELOW) return FLAT;
  return GAIN * (BASE + SLOPE * f) * exp(-pow(SLOPE * f, POWER));
}

extern "C" __global__ void __launch_bounds__(256)
    csf(COMPLEX *__restrict__ spectrum, int width, int height, REAL scale) {
  const int l = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  const int half = width / 2 + 1;
  if (l >= half || j >= height) return;
  const REAL here = sensitivity(j, l, height, width);
  const REAL there = sensitivity(j ? height - j : 0, l ? width - l : 0, height, width);
  const REAL gain = scale * REAL(.5) * (here + there);
  COMPLEX &value = spectrum[(size_t)j * half + l];
  value = {value.x * gain, value.y * gain};
}
