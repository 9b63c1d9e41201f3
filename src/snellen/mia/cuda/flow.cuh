// A move of samples along a line by a fraction of a sample, as flows from each to the next one.
// centre.py has the definition: RADIUS, the spline, and where flows are cut.
//
// Barriers: __syncthreads before and after the weights are written, so that all threads of a block
// call `set`.
#pragma once

// The cubic spline that is 1 at 0 and 0 at all other integers.
__device__ inline double cardinal(double x) {
  const double whole = floor(x), root = 1.7320508075688772;
  double sum = 0;
#pragma unroll 1
  for (int j = -1; j <= 2; j++) {
    const double away = fabs(x - whole - j), left = away < 2 ? 2 - away : 0;
    const double bell = away < 1 ? 2.0 / 3 - away * away + away * away * away / 2
                                 : left * left * left / 6;
    double power = root;
#pragma unroll 1
    for (int k = int(fabs(whole + j)); k; k--) power *= root - 2;
    sum += power * bell;
  }
  return sum;
}

// Flows of one fraction; in shared memory.
struct Flow {
  double parts[2 * RADIUS + 1];
  REAL weights[2 * RADIUS];  // of RADIUS samples before a sample and of those from it on
  REAL part;

  // Computes the weights for a move by `by`, −1 … 1.
  __device__ __forceinline__ void set(double by) {
    const int k = threadIdx.x;
    __syncthreads();
    if (!k) part = by;
    if (by && k <= 2 * RADIUS) parts[k] = cardinal(k - RADIUS - by);
    __syncthreads();
    if (by && k < 2 * RADIUS) {
      // Into a sample flows what goes so far from those before it, less what goes back from others.
      double sum = 0;
      if (k < RADIUS) {
#pragma unroll 1
        for (int to = 2 * RADIUS; to >= 2 * RADIUS - k; to--) sum += parts[to];
      } else {
#pragma unroll 1
        for (int to = 0; to < 2 * RADIUS - k; to++) sum -= parts[to];
      }
      // Those of linear interpolation are apart.
      weights[k] = k == RADIUS - (by > 0) ? sum - by : sum;
    }
    __syncthreads();
  }

  // The sample i of a line after the move. Lines are periodic, or closed: nothing leaves them.
  __device__ __forceinline__ REAL moved(const REAL *line, long long step, int size, bool closed,
                                        int i) const {
    auto at = [&](int k) {
      if (closed && (k < 0 || k >= size)) return REAL(0);
      while (k < 0) k += size;
      while (k >= size) k -= size;
      return line[k * step];
    };
    if (!part) return at(i);
    REAL rest[4], least[3];
#pragma unroll
    for (int k = 0; k < 4; k++) {  // into i − 1 … i + 2
      const int to = i - 1 + k;
      REAL sum = 0;
      if (!closed || (to > 0 && to < size)) {
#pragma unroll 1
        for (int from = 0; from < 2 * RADIUS; from++)
          sum += weights[from] * at(to - RADIUS + from);
      }
      rest[k] = sum;
    }
    auto low = [&](int to) {
      if (closed && (to <= 0 || to >= size)) return REAL(0);
      return part * at(part > 0 ? to - 1 : to);
    };
    REAL share[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {  // of i − 1 … i + 1
      const int to = i - 1 + k;
      least[k] = at(to) + low(to) - low(to + 1);
      const REAL leaves = (rest[k + 1] > 0 ? rest[k + 1] : 0) - (rest[k] < 0 ? rest[k] : 0);
      const REAL most = leaves > least[k] ? least[k] / leaves : 1;
      share[k] = most > 0 ? most : 0;
    }
    const REAL in = rest[1] * (rest[1] > 0 ? share[0] : share[1]);
    const REAL out = rest[2] * (rest[2] > 0 ? share[1] : share[2]);
    const REAL sum = least[1] + in - out;
    return sum > 0 ? sum : 0;
  }
};
