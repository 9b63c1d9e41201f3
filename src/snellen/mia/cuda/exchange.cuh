// A line FFT whose second step runs on other lanes than its first: on lanes of type `End`, which
// are arranged so that the results of neighbouring threads go to neighbouring addresses of one
// block. mia.cu defines the lines; cluster.cuh and one_block.cuh define RowEnd, HalfRowEnd and
// ColumnEnd.
//
// Barriers: within a warp if Line and End are the same type, else of the block.
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

// Synchronises all lanes between which lines of this kind are exchanged.
template <class Line, class End>
__device__ __forceinline__ void exchange_barrier() {
  if constexpr (Same<Line, End>::value)
    __syncwarp();
  else
    __syncthreads();
}

// The type of the twiddle factors of a line: cached in registers where there are enough of these.
template <class Line, bool = (CLUSTER > 1 && Line::V <= 8)>
struct TwiddlesOf {
  using Type = TableTwiddles<Line>;
};
template <class Line>
struct TwiddlesOf<Line, true> {
  using Type = RegisterTwiddles<Line>;
};

// The twiddle factors of the lanes that begin a line and of those that end it.
template <class Line, class End = Line>
struct StepTwiddles {
  typename TwiddlesOf<Line>::Type begin;
  typename TwiddlesOf<End>::Type end;
  __device__ explicit StepTwiddles(const float2 *table) : begin(table), end(table) {}
};
struct AllTwiddles {
  StepTwiddles<RowLine, RowEnd> rows;
  StepTwiddles<HalfRowLine, HalfRowEnd> half_rows;
  StepTwiddles<ColumnLine, ColumnEnd> columns;
};

// Transforms v, of which this thread's lane of `Line` passes in its values and its lane of `End`
// gets the results. All threads of the block call it; `active` are those that have a line. MORE:
// whether the pass has more lines, so that the exchange memory is written again.
template <class Line, class End, bool INVERSE, bool MORE, class Layout, class EndLayout>
__device__ __forceinline__ void transform_across_lanes(float2 (&v)[Line::V], const Layout &layout,
                                                       const EndLayout &end_layout,
                                                       const StepTwiddles<Line, End> &twiddles,
                                                       bool active = true) {
  if (active) Line::template begin<INVERSE>(v, layout, twiddles.begin);
  exchange_barrier<Line, End>();
  if (active) End::template finish<INVERSE>(v, end_layout, twiddles.end);
  // Needed before the exchange memory is written again. The result of a line that stays in its warp
  // may be stored in the memory of its own exchange.
  if constexpr (MORE || Same<Line, End>::value) exchange_barrier<Line, End>();
}
