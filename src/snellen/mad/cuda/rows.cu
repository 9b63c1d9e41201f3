// The log-Gabor subbands of a picture, first half: filters, and inverse transforms of rows.
//
// Who holds what: a block has a row of frequencies and makes EACH subbands of it, LINES at a time, so that
// neighbouring lanes read the same frequency. It multiplies the spectrum by filters while it loads (a
// table has the logarithm of the radius and the angle: see coordinates.cu) and transforms the rows in
// shared memory (line.cuh). It writes columns by fours, [column / 4][row][column % 4], as columns.cu
// reads them.
//
// Barriers: all threads of a block reach those between steps. Macros from the host: those of line.cuh,
// EACH (a multiple of LINES), BLOCKS (of a multiprocessor).
#include "line.cuh"

constexpr float log_half_wavelength[SCALES] = LOG_HALF_WAVELENGTHS;
constexpr int FOUR = STEP;  // columns side by side

// Returns 2^x.
__device__ __forceinline__ float power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2(x);
#endif
}

// What makes one filter of its frequencies' coordinates.
struct Filter {
  float scale, orientation;
  __device__ explicit Filter(int id)
      : scale(log_half_wavelength[id / ORIENTATIONS]),
        orientation(id % ORIENTATIONS * (HALF_TURN / ORIENTATIONS)) {}

  __device__ __forceinline__ float operator()(float2 coordinates) const {
    const float radius = coordinates.x + scale;
    float angle = coordinates.y - orientation;
    if (angle <= -HALF_TURN) angle += 2 * HALF_TURN;
    return power_of_two(-(radius * radius) - angle * angle);
  }
};

// Makes subbands `first` … `first + count - 1` of one row: (count, columns / 4, H, 4), columns / 4 whole.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    rows(const float2 *__restrict__ spectrum, const float2 *__restrict__ coordinates,
         const float2 *__restrict__ factors, int height, float gain, int first, int count,
         float2 *__restrict__ out) {
  extern __shared__ float4 memory[];
  float2 *cells = reinterpret_cast<float2 *>(memory);
  constexpr int HALF = LENGTH / 2 + 1, FOURS = LENGTH / FOUR;
  const size_t four = (size_t)height * FOUR;  // values of four columns
  const int parts = (count + EACH - 1) / EACH;
  const int row = blockIdx.x / parts, begin = blockIdx.x % parts * EACH;
  const float2 *near = spectrum + (size_t)row * HALF;
  const float2 *opposite = spectrum + (size_t)(row ? height - row : 0) * HALF;
  coordinates += (size_t)row * LENGTH;
#pragma unroll 1
  for (int band = begin; band < min(begin + EACH, count); band += LINES) {
    const int mine = band + threadIdx.x % LINES;  // THREADS is a multiple of LINES
    const Filter filter(min(first + mine, SCALES * ORIENTATIONS - 1));
    first_step(cells, factors, [&](unsigned, unsigned m) {
      const float2 *place = coordinates + m, *left = near + m, *right = opposite + LENGTH - m;
      return [=](int n) -> float2 {
        const float weight = gain * filter(__ldg(place + n * REST));
        // Beyond the half: the conjugate of the opposite frequency, as the plane is real.
        if ((n + 1) * REST <= HALF || (n * REST < HALF && n * REST + m < HALF)) {
          const float2 value = __ldg(left + n * REST);
          return {weight * value.x, weight * value.y};
        }
        const float2 value = __ldg(right - n * REST);
        return {weight * value.x, -weight * value.y};
      };
    });
    __syncthreads();
    second_step(cells, factors);
    __syncthreads();
    float2 *plane = out + mine * FOURS * four + row * FOUR;
#pragma unroll 1
    for (unsigned b = threadIdx.x; b < R1 * R2 * LINES; b += THREADS) {
      float2 v[R3];
      third_step(cells, b, v);
      if (LINES > 1 && mine >= count) continue;
      const unsigned i = b / LINES;
      if constexpr (R1 * R2 % FOUR == 0) {
        float2 *at = plane + i / FOUR * four + i % FOUR;
#pragma unroll
        for (int k = 0; k < R3; k++, at += R1 * R2 / FOUR * four) *at = v[k];
      } else {
#pragma unroll
        for (int k = 0; k < R3; k++) {
          const unsigned x = i + R1 * R2 * k;
          if (x < FOURS * FOUR) plane[x / FOUR * four + x % FOUR] = v[k];
        }
      }
    }
    __syncthreads();  // before the next subband's first step
  }
}
