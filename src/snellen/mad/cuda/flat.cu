// Whether pictures have large areas of one value.
//
// A block looks at one tile of SIDE × SIDE samples, and at no more of it than THREADS where these differ.
// Grid: tiles across, tiles down, planes that lie end to end.
#include "gpu/device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    flat(const SAMPLE *__restrict__ planes, int width, int height, double *__restrict__ found) {
  const SAMPLE *tile = planes + (size_t)blockIdx.z * width * height +
                       (size_t)blockIdx.y * SIDE * width + blockIdx.x * SIDE;
  for (int i = threadIdx.x; i < SIDE * SIDE; i += THREADS)
    if (__syncthreads_or(tile[(size_t)(i / SIDE) * width + i % SIDE] != tile[0])) return;
  if (threadIdx.x == 0) *found = 1;
}
