// The table of the filters' coordinates for rows.cu: the logarithm of the radius and the angle,
// in units of the filters' widths. Where the frequency is zero every filter is 0 so far away.
//
// Who holds what: a thread has one frequency. Barriers: none.
#include "frequency.cuh"

extern "C" __global__ void __launch_bounds__(256)
    coordinates(int width, int height, float2 *__restrict__ out) {
  const int l = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  if (l >= width || j >= height) return;
  const REAL x = frequency(l, width), y = frequency(j, height);
  const REAL radius = j == 0 && l == 0 ? 1e6 : RADIAL * REAL(.5) * log(x * x + y * y);
  out[(size_t)j * width + l] = {float(radius), float(ANGULAR * atan2(-y, x))};
}
