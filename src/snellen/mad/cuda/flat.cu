// Finds out whether pictures have large areas of one value: *found becomes 1 if a tile has one value.
//
// Who holds what: a block has one tile of SIDE × SIDE samples, and leaves after the first THREADS of them
// that differ. Grid: tiles across, tiles down, planes (contiguous). Barriers: __syncthreads_or per round.
#include "gpu/device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    flat(const SAMPLE *__restrict__ planes, int width, int height, double *__restrict__ found) {
  const SAMPLE *tile = planes + (size_t)blockIdx.z * width * height +
                       (size_t)blockIdx.y * SIDE * width + blockIdx.x * SIDE;
  for (int i = threadIdx.x; i < SIDE * SIDE; i += THREADS)
    if (__syncthreads_or(tile[(size_t)(i / SIDE) * width + i % SIDE] != tile[0])) return;
  if (threadIdx.x == 0) *found = 1;
}
