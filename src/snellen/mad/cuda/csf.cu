// The half spectrum of a real plane through the eye's contrast sensitivity, in place.
//
// One thread a frequency. Only the real part of what comes out is kept, and the sensitivity differs a
// little between k and −k (it is sampled half a step off, Larson & Chandler's code): the mean of both
// gives that real part. So a spectrum of real planes stays one.
// At row j, column l of a spectrum whose corner is the zero frequency. Both axes are divided by the
// width, as the authors do it.
__device__ __forceinline__ float sensitivity(int j, int l, int height, int width) {
  int row = j + height / 2, column = l + width / 2;
  if (row >= height) row -= height;
  if (column >= width) column -= width;
  const float u = (row - .5f * height + .5f) / width * PER_DEGREE, v = (column - .5f * width + .5f) / width * PER_DEGREE;
  const float square = u * u + v * v, c = square > 0 ? u * u / square : 1;  // cos² of the angle
  const float s = (1 - W) / 2 * (8 * c * (c - 1) + 1) + (1 + W) / 2;
  const float f = sqrtf(square) / s;
  if (f < FLAT_BELOW) return FLAT;
  return 2.6f * (0.0192f + 0.114f * f) * expf(-powf(0.114f * f, 1.1f));
}

extern "C" __global__ void __launch_bounds__(256)
    csf(float2 *__restrict__ spectrum, int width, int height, float scale) {
  const int l = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  const int half = width / 2 + 1;
  if (l >= half || j >= height) return;
  const float here = sensitivity(j, l, height, width);
  const float there = sensitivity(j ? height - j : 0, l ? width - l : 0, height, width);
  const float gain = scale * .5f * (here + there);
  float2 &value = spectrum[(size_t)j * half + l];
  value = {value.x * gain, value.y * gain};
}
