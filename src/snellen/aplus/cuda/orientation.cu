// Orientation, between a picture and its features, for models of format 2: `turns` finds the
// orientation that each window is turned into, as orientation.py does it; after `match`, `cells` joins
// its anchor with its class of strength.
//
// Who holds what: a thread has one window. It reads the 5 × 5 samples around it from the caches.
//
// Barriers: none; threads do not communicate.
//
// Precision: the sums are those of the CPU backend to the last bit: of integers in int32, where they
// are exact; of floats in float64, in the same order and never fused.
#include "aplus/cuda/orientation.cuh"

template <typename Sample>
struct Exact {
  typedef int Sum;
};
template <>
struct Exact<float> {
  typedef double Sum;
};
typedef Exact<SAMPLE>::Sum Sum;

__device__ __forceinline__ int times(int weight, int sum) { return weight * sum; }
__device__ __forceinline__ double times(int weight, double sum) { return __dmul_rn(weight, sum); }

// Returns `bit` where the sum is negative, and its tie where it is neither that nor positive.
__device__ __forceinline__ int turned_by(Sum sum, int bit) {
  return sum > 0 ? 0 : sum < 0 ? bit : bit * TIES;
}

// Finds the turns of the windows centred on rows first … first + rows − 1.
extern "C" __global__ void __launch_bounds__(256)
    turns(const SAMPLE *__restrict__ plane, int pitch, int width, int height, int first, int rows,
          uint8_t *__restrict__ out) {
  const int x = blockIdx.x * ACROSS + threadIdx.x, row = blockIdx.y * DOWN + threadIdx.y;
  if (x >= width || row >= rows) return;
  const int y = first + row;
  Sum along[5], beside[5];  // of each column, weighted as along and across the gradient
#pragma unroll
  for (int j = 0; j < 5; j++) {
    const SAMPLE *column = plane + clamp(x + j - 2, width - 1);
    Sum sample[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
      sample[i] = Sum(__ldg(column + (size_t)clamp(y + i - 2, height - 1) * pitch));
    along[j] = times(NEAR, sample[3] - sample[1]) + times(FAR, sample[4] - sample[0]);
    beside[j] = times(CENTRE, sample[2]) + times(BESIDE, sample[1] + sample[3]) +
                times(END, sample[0] + sample[4]);
  }
  const Sum across = times(NEAR, beside[3] - beside[1]) + times(FAR, beside[4] - beside[0]);
  const Sum down = times(CENTRE, along[2]) + times(BESIDE, along[1] + along[3]) +
                   times(END, along[0] + along[4]);
  const Sum more = (across < 0 ? -across : across) - (down < 0 ? -down : down);
  out[(size_t)row * width + x] = turned_by(across, FLIPPED_ACROSS) |
                                 turned_by(down, FLIPPED_DOWN) | turned_by(more, TRANSPOSED);
}

// Replaces each anchor by its cell: the anchor times CLASSES plus the class of strength. `norms` has
// the squared norm of each slab of a feature, and `edges` that at which the next class begins. The
// patch of a feature that is 0 is 0 in any orientation, so its ties are dropped.
extern "C" __global__ void __launch_bounds__(256)
    cells(int total, const float *__restrict__ norms, const float *__restrict__ edges,
          uint16_t *__restrict__ index, uint8_t *__restrict__ turns) {
  const int p = blockIdx.x * 256 + threadIdx.x;
  if (p >= total) return;
  float norm = 0;
#pragma unroll
  for (int slab = 0; slab < SLABS; slab++) norm += norms[(size_t)slab * total + p];
  int strength = 0;
#pragma unroll 4
  for (int c = 0; c < CLASSES - 1; c++) strength += norm >= edges[c];
  index[p] = index[p] * CLASSES + strength;
  if (norm == 0) turns[p] &= TIES - 1;
}
