// A transform whose last step other lanes do than its first: those that bring together what goes to one place.
// The lines are those of mia.cu, `…Out` those of cluster.cuh or alone.cuh.
#pragma once
#include "fft/small.cuh"

template <class One, class Other>
struct Same {
  static constexpr bool value = false;
};
template <class One>
struct Same<One, One> {
  static constexpr bool value = true;
};

// Waits for the block where a line goes to lanes of other warps, else for its warp.
template <class Line, class Out>
__device__ __forceinline__ void wait_for() {
  if constexpr (Same<Line, Out>::value)
    __syncwarp();
  else
    __syncthreads();
}

// The turns of lanes of a kind: in registers where there are enough.
template <class Line, bool = (CLUSTER > 1 && Line::V <= 8)>
struct Of {
  using Turns = ::Turns<Line>;
};
template <class Line>
struct Of<Line, true> {
  using Turns = Kept<Line>;
};
template <class Line, class Out = Line>
struct Both {
  typename Of<Line>::Turns in;
  typename Of<Out>::Turns out;
  __device__ explicit Both(const float2 *table) : in(table), out(table) {}
};
struct AllTurns {
  Both<Across, RowsOut> rows;
  Both<Half, HalfRowsOut> half_rows;
  Both<Down, ColumnsOut> columns;
};

// A transform that lanes of `Out` end, to which its lines are handed over: they bring together what goes
// to the same place. All threads come; `here` are those that have a line. MORE may come in this pass.
template <class Line, class Out, bool BACK, bool MORE, class Place, class OutPlace>
__device__ __forceinline__ void handed(float2 (&v)[Line::V], const Place &place,
                                       const OutPlace &out, const Both<Line, Out> &turns,
                                       bool here = true) {
  if (here) Line::template begin<BACK>(v, place, turns.in);
  wait_for<Line, Out>();
  if (here) Out::template finish<BACK>(v, out, turns.out);
  // Before its cells are written again; a line that stays in its warp may go where they are.
  if constexpr (MORE || Same<Line, Out>::value) wait_for<Line, Out>();
}
