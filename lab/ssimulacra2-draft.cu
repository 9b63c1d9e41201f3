// A draft of kernels for SSIMULACRA 2.1, kept as a start: they compile by NVRTC for sm_75, 80, 90 and 120 without
// spills, but never ran on a GPU, and nothing launches them. The CPU's order of operations is that of cpu.py:
// scores depend on it (lab/ssimulacra2.md).

// ---- colours.cu: linear RGB to XYB, and half the size
// Colours of both pictures, and the pictures at the next scale.
//
// Who holds what: a thread has one pixel of both pictures (xyb), or one pixel of a halved plane (half). Every
// product and sum that the definition rounds is an intrinsic, so that the compiler joins none of them.
#include "gpu/device.cuh"

__device__ __forceinline__ float cube_root(float x) {
  const int bits = __float_as_int(x);
  float r = bits == 0 ? 0.0f : __int_as_float(0x54800000 - (bits >> 23) * 0x002AAAAA);
  const float third = __fmul_rn(THIRD, x);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const float square = __fmul_rn(r, r);
    r = __fmaf_rn(-third, __fmul_rn(square, square), __fmul_rn(FOUR_THIRDS, r));
  }
  const float square = __fmul_rn(r, r);
  r = __fmaf_rn(THIRD, __fmaf_rn(-x, __fmul_rn(square, square), r), r);
  return __fmaf_rn(__fmul_rn(r, r), x, BLACK);
}

__device__ __forceinline__ float mixed(float a, float b, float c, float red, float green, float blue) {
  return cube_root(fmaxf(__fmaf_rn(a, red, __fmaf_rn(b, green, __fmaf_rn(c, blue, BIAS))), 0.0f));
}

// Grid: pixels of a plane; the picture (0: reference, 1: distorted). Planes: (3, H, W).
extern "C" __global__ void __launch_bounds__(THREADS)
    xyb(const float *__restrict__ reference, const float *__restrict__ distorted, int pixels,
        float *__restrict__ out) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= pixels) return;
  const size_t plane = pixels;
  const float *in = (blockIdx.y ? distorted : reference) + i;
  out += 3 * plane * blockIdx.y + i;
  const float red = in[0], green = in[plane], blue = in[2 * plane];
  const float one = mixed(LR, LG, LB, red, green, blue);
  const float two = mixed(MR, MG, MB, red, green, blue);
  const float three = mixed(SR, SG, SB, red, green, blue);
  const float y = __fmul_rn(0.5f, __fadd_rn(one, two));
  out[0] = __fadd_rn(__fmul_rn(__fmul_rn(0.5f, __fadd_rn(one, -two)), X_SCALE), X_OFFSET);
  out[plane] = __fadd_rn(y, Y_OFFSET);
  out[2 * plane] = __fadd_rn(__fadd_rn(three, -y), B_OFFSET);
}

// Grid: pixels of a halved plane; plane. Means of 2 × 2 pixels; an odd edge counts twice.
extern "C" __global__ void __launch_bounds__(THREADS)
    half_size(const float *__restrict__ in, int width, int height, float *__restrict__ out) {
  const int across = (width + 1) / 2, down = (height + 1) / 2;
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= across * down) return;
  in += (size_t)blockIdx.y * width * height;
  const int x = 2 * (i % across), y = 2 * (i / across);
  const int right = min(x + 1, width - 1), below = min(y + 1, height - 1);
  const float *one = in + (size_t)y * width, *two = in + (size_t)below * width;
  const float sum = __fadd_rn(__fadd_rn(__fadd_rn(one[x], one[right]), two[x]), two[right]);
  out[(size_t)blockIdx.y * across * down + i] = __fmul_rn(sum, 0.25f);
}

// ---- blur.cu: recursive Gaussian, across and down, and sums of maps
// The blur of colours and of their products: across, then down with the comparison.
//
// Rounding errors of these recursions do not fade, and are part of scores. So steps and their order are those
// of cpu.py: across four columns at a time from the two before them, down row by row.
#include "gpu/device.cuh"

constexpr int N = RADIUS;
__constant__ const float I[3][4] = {INPUTS};
__constant__ const float P[3][4] = {LAST};
__constant__ const float Q[3][4] = {BEFORE};
__constant__ const float GAIN[3] = {GAINS};
__constant__ const float BACK[3] = {BACKS};

// Who holds what: a block is a warp, a lane has one of 32 rows and its recursions in registers. Shared memory
// has a ring of RING columns of the input, and one tile of results, so that both go to and from global memory by
// whole rows of 32 columns. Grid: groups of 32 rows; plane of the result. Barriers: two per 32 columns.
// sources[plane] = {one, other}: planes of colours (3 of the reference, 3 of the distorted picture) whose product
// is blurred; other is −1 where there is none.
constexpr int RING = 64;

extern "C" __global__ void __launch_bounds__(32)
    across(const float *__restrict__ colours, const int2 *__restrict__ sources, int width, int height,
           float *__restrict__ out) {
  __shared__ float ring[RING][33], tile[32][33];
  const int lane = threadIdx.x, top = blockIdx.x * 32;
  const int2 source = sources[blockIdx.y];
  const size_t plane = (size_t)width * height;
  const float *one = colours + source.x * plane;
  const float *other = source.y < 0 ? nullptr : colours + source.y * plane;
  out += blockIdx.y * plane;
  float last[3] = {}, before[3] = {};
  const auto load = [&](int left) {  // columns left … left + 31 of all rows; 0 outside
    for (int row = 0; row < 32; ++row) {
      const int x = left + lane, y = top + row;
      float value = 0;
      if (x >= 0 && x < width && y < height) {
        const size_t at = (size_t)y * width + x;
        value = other ? __fmul_rn(one[at], other[at]) : one[at];
      }
      ring[(left + lane) & (RING - 1)][row] = value;
    }
  };
  const auto sum = [&](int n) {
    return __fadd_rn(ring[(n - N - 1) & (RING - 1)][lane], ring[(n + N - 1) & (RING - 1)][lane]);
  };
  const auto step = [&](int n) {  // one column
    const float in = sum(n);
    float y[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      y[k] = __fmaf_rn(P[k][0], last[k], __fmaf_rn(Q[k][0], before[k], __fmul_rn(I[k][0], in)));
      before[k] = last[k];
      last[k] = y[k];
    }
    return __fadd_rn(y[0], __fadd_rn(y[1], y[2]));
  };
  // Columns n of a tile need inputs up to n + 3 + N − 1: the ring is 16 columns ahead of the tile.
  load(-32);
  load(0);
  __syncwarp();
  for (int n = 1 - N; n < 0; ++n) step(n);
  for (int left = 0; left < width; left += 32) {
    for (int part = 0; part < 32; part += 4) {
      const int n = left + part;
      if (part == 16) {  // the half of the ring before this tile is free but for the last N + 1 columns
        __syncwarp();
        load(left + 32);
        __syncwarp();
      }
      if (n >= 8 && n < width - 7) {
        float in[4], y[4] = {};
#pragma unroll
        for (int j = 0; j < 4; ++j) in[j] = sum(n + j);
        float part_of[3][4];
#pragma unroll
        for (int k = 0; k < 3; ++k) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            float value = __fmul_rn(I[k][j], in[0]);
#pragma unroll
            for (int i = 1; i <= j; ++i) value = __fmaf_rn(I[k][j - i], in[i], value);
            value = __fmaf_rn(Q[k][j], before[k], value);
            part_of[k][j] = __fmaf_rn(P[k][j], last[k], value);
          }
        }
#pragma unroll
        for (int k = 0; k < 3; ++k) before[k] = part_of[k][2], last[k] = part_of[k][3];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          y[j] = __fadd_rn(part_of[0][j], __fadd_rn(part_of[1][j], part_of[2][j]));
          tile[part + j][lane] = y[j];
        }
      } else {
        for (int j = 0; j < 4 && n + j < width; ++j) tile[part + j][lane] = step(n + j);
      }
    }
    __syncwarp();
    for (int row = 0; row < 32 && top + row < height; ++row)
      if (left + lane < width) out[(size_t)(top + row) * width + left + lane] = tile[lane][row];
    __syncwarp();
  }
}

// Who holds what: a thread has one column of a component, its recursions in registers, and its sums. Grid:
// blocks of columns; component. `counts` planes of each component follow one another in `planes`: the two
// means, and where SSIM has a weight, squares of both and the product. sums: (component, block, 6) of the errors,
// ringing and blur, then of their fourth powers. Barriers: those of the sums at the end.
extern "C" __global__ void __launch_bounds__(COLUMNS)
    down(const float *__restrict__ planes, const int *__restrict__ firsts, const float *__restrict__ colours,
         int width, int height, double *__restrict__ sums) {
  __shared__ double parts[6][COLUMNS / 32];
  const int x = blockIdx.x * COLUMNS + threadIdx.x, c = blockIdx.y;
  const size_t plane = (size_t)width * height;
  const bool structure = firsts[c + 1] - firsts[c] == 5;
  const float *in = planes + firsts[c] * plane + x;
  const float *one = colours + c * plane + x, *other = colours + (3 + c) * plane + x;
  double total[6] = {};
  if (x < width) {
    float last[5][3] = {}, before[5][3] = {};
    for (int y = 1 - N; y < height; ++y) {
      float found[5] = {};
#pragma unroll
      for (int i = 0; i < 5; ++i) {
        if (i > 1 && !structure) break;
        const float *at = in + i * plane;
        const float above = y > N ? at[(size_t)(y - N - 1) * width] : 0.0f;
        const float below = y + N - 1 < height ? at[(size_t)(y + N - 1) * width] : 0.0f;
        const float both = __fadd_rn(above, below);
        float now[3];
#pragma unroll
        for (int k = 0; k < 3; ++k) {
          now[k] = __fmaf_rn(GAIN[k], both, __fmaf_rn(BACK[k], last[i][k], -before[i][k]));
          before[i][k] = last[i][k];
          last[i][k] = now[k];
        }
        found[i] = __fadd_rn(now[0], __fadd_rn(now[1], now[2]));
      }
      if (y < 0) continue;
      const float near = fabsf(one[(size_t)y * width] - found[0]);
      const float far = fabsf(other[(size_t)y * width] - found[1]);
      const float edges = __fdiv_rn(far - near, 1.0f + near);
      float errors[3] = {0.0f, fmaxf(edges, 0.0f), fmaxf(-edges, 0.0f)};
      if (structure) {
        const float apart = found[0] - found[1];
        const float alike = 1.0f - __fmul_rn(apart, apart);
        const float up = __fadd_rn(2.0f * (found[4] - __fmul_rn(found[0], found[1])), C2);
        const float low = __fadd_rn((found[2] - __fmul_rn(found[0], found[0])) +
                                        (found[3] - __fmul_rn(found[1], found[1])), C2);
        errors[0] = fmaxf(1.0f - __fdiv_rn(__fmul_rn(alike, up), low), 0.0f);
      }
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        const float square = errors[k] * errors[k];
        total[k] += errors[k];
        total[3 + k] += square * square;
      }
    }
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    for (int step = 16; step; step /= 2) total[k] += __shfl_xor_sync(ALL, total[k], step);
    if (lane == 0) parts[k][warp] = total[k];
  }
  __syncthreads();
  if (threadIdx.x < 6) {
    double whole = 0;
    for (int i = 0; i < COLUMNS / 32; ++i) whole += parts[threadIdx.x][i];
    sums[((size_t)c * gridDim.x + blockIdx.x) * 6 + threadIdx.x] = whole;
  }
}
