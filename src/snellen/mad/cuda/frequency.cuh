// Where an element of a spectrum lies. Macro from the host: REAL, the precision.
#pragma once

// Returns the frequency of an index in units of half the sampling rate; the zero frequency is in the
// corner. For an odd size it is half a step off, as in the authors' code.
__device__ __forceinline__ REAL frequency(int index, int size) {
  int shifted = index + (size + 1) / 2;
  if (shifted >= size) shifted -= size;
  return REAL(2 * shifted - size) / size;
}
