// Sends frames through a colour look-up table: `lut` makes luma, and chroma at every luma sample; `narrow`
// makes chroma at its own samples of that.
//
// Who holds what: a thread has one pixel, or one chroma sample, in registers; a block has 32 × 8 of them.
// The table (64 KB … 4 MB as usual) stays in the L2 cache. Products and sums are rounded one by one, in
// the order of cpu.py, so that both backends return the same bits. Barriers: none.
//
// Macros from the host: SAMPLE, TARGET (types of the planes), DIMENSIONS (of the table: 1 or 3).
#include "gpu/device.cuh"

// Coefficients of a call, see planes.Planes.
struct Numbers {
  float to_index[3][4], from_rgb[3][4], slack[3];
};

__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float plus(float a, float b) { return __fadd_rn(a, b); }

// Returns the number at `part` of the way from a to b.
__device__ __forceinline__ float between(float a, float b, float part) {
  return plus(a, times(part, plus(b, -a)));
}

// Returns a row of a matrix times (a, b, c, 1).
__device__ __forceinline__ float mix(const float *row, float a, float b, float c) {
  return plus(plus(plus(times(row[0], a), times(row[1], b)), times(row[2], c)), row[3]);
}

// Chroma of a plane at a luma sample: between rows (above, below), and columns (before, after).
__device__ __forceinline__ float at(const SAMPLE *plane, int pitch, const int *rows, float down,
                                    const int *columns, float across) {
  const SAMPLE *above = plane + (size_t)rows[0] * pitch;
  const SAMPLE *below = plane + (size_t)rows[1] * pitch;
  const float left = between(above[columns[0]], below[columns[0]], down);
  const float right = between(above[columns[1]], below[columns[1]], down);
  return between(left, right, across);
}

__device__ __forceinline__ void exchange(float &a, float &b, int &m, int &n) {
  if (a >= b) return;
  const float x = a;
  const int i = m;
  a = b, b = x, m = n, n = i;
}

// Returns the colour of the table at (r, g, b), which lie between 0 and size − 1.
__device__ __forceinline__ float4 colour(const float4 *table, int size, float r, float g, float b) {
  const int at_r = min(int(r), size - 2), at_g = min(int(g), size - 2), at_b = min(int(b), size - 2);
  r -= at_r, g -= at_g, b -= at_b;
#if DIMENSIONS == 1
  return {between(table[at_r].x, table[at_r + 1].x, r), between(table[at_g].y, table[at_g + 1].y, g),
          between(table[at_b].z, table[at_b + 1].z, b), 0};
#else
  // The tetrahedron: from the cell's first entry along the axes, the longest way first.
  int step_r = 1, step_g = size, step_b = size * size;
  const int first = at_r + size * (at_g + size * at_b);
  exchange(r, g, step_r, step_g);
  exchange(g, b, step_g, step_b);
  exchange(r, g, step_r, step_g);
  const float4 i = table[first], j = table[first + step_r], k = table[first + step_r + step_g],
               l = table[first + step_r + step_g + step_b];
  const float s = plus(1, -r), t = plus(r, -g), u = plus(g, -b);
  return {plus(plus(plus(times(s, i.x), times(t, j.x)), times(u, k.x)), times(b, l.x)),
          plus(plus(plus(times(s, i.y), times(t, j.y)), times(u, k.y)), times(b, l.y)),
          plus(plus(plus(times(s, i.z), times(t, j.z)), times(u, k.z)), times(b, l.z)), 0};
#endif
}

__device__ __forceinline__ bool beyond(float x, float slack, float end) {
  return x < -slack || x > plus(end, slack);
}

// near_…, part_…: of all rows and columns, see chroma.Axis. `wide` has two planes of floats, width × height
// each. `clipped` counts pixels with colours beyond the table's ends, or the code values'.
extern "C" __global__ void __launch_bounds__(256)
    lut(const SAMPLE *__restrict__ luma, int pitch, const SAMPLE *__restrict__ cb,
        const SAMPLE *__restrict__ cr, int chroma_pitch, int width, int height,
        const int *__restrict__ near_down, const float *__restrict__ part_down,
        const int *__restrict__ near_across, const float *__restrict__ part_across,
        const float4 *__restrict__ table, int size, const float *__restrict__ coefficients,
        float most, TARGET *__restrict__ out, int out_pitch, float *__restrict__ wide,
        unsigned long long *__restrict__ clipped) {
  const int x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || row >= height) return;
  const Numbers &numbers = *reinterpret_cast<const Numbers *>(coefficients);
  const int *rows = near_down + 2 * row, *columns = near_across + 2 * x;
  const float y = luma[(size_t)row * pitch + x];
  const float u = at(cb, chroma_pitch, rows, part_down[row], columns, part_across[x]);
  const float v = at(cr, chroma_pitch, rows, part_down[row], columns, part_across[x]);
  const float end = size - 1;
  const float r = mix(numbers.to_index[0], y, u, v), g = mix(numbers.to_index[1], y, u, v),
              b = mix(numbers.to_index[2], y, u, v);
  const float4 rgb = colour(table, size, clip(r, 0, end), clip(g, 0, end), clip(b, 0, end));
  const float to_y = mix(numbers.from_rgb[0], rgb.x, rgb.y, rgb.z),
              to_u = mix(numbers.from_rgb[1], rgb.x, rgb.y, rgb.z),
              to_v = mix(numbers.from_rgb[2], rgb.x, rgb.y, rgb.z);
  out[(size_t)row * out_pitch + x] = TARGET(rintf(clip(to_y, 0, most)));
  const size_t place = (size_t)row * width + x;
  wide[place] = to_u;
  wide[(size_t)height * width + place] = to_v;
  const float least = fminf(to_y, fminf(to_u, to_v)), greatest = fmaxf(to_y, fmaxf(to_u, to_v));
  if (beyond(r, numbers.slack[0], end) || beyond(g, numbers.slack[1], end) ||
      beyond(b, numbers.slack[2], end) || least < -0.5f || greatest > plus(most, 0.5f))
    atomicAdd(clipped, 1ull);
}

// The z of a block is the plane. taps_…, weights_…: of all rows and columns, see chroma.Axis.
extern "C" __global__ void __launch_bounds__(256)
    narrow(const float *__restrict__ wide, int width, int height, const int *__restrict__ taps_down,
           const float *__restrict__ weights_down, int count_down,
           const int *__restrict__ taps_across, const float *__restrict__ weights_across,
           int count_across, float most, TARGET *__restrict__ cb, TARGET *__restrict__ cr,
           int pitch, int columns, int rows) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const float *plane = wide + (size_t)blockIdx.z * height * width;
  float total = 0;
  for (int i = 0; i < count_across; i++) {
    float line = 0;
    for (int k = 0; k < count_down; k++)
      line = plus(line, times(weights_down[k], plane[(size_t)taps_down[y * count_down + k] * width +
                                                     taps_across[x * count_across + i]]));
    total = plus(total, times(weights_across[i], line));
  }
  (blockIdx.z ? cr : cb)[(size_t)y * pitch + x] = TARGET(rintf(clip(total, 0, most)));
}
