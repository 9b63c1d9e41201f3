"""Detection, step 4: the local mean squared error."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled
from snellen.mad.definition import BLOCK

BEFORE = 7  # pixels of a window before its own: it covers i − 7 … i + 8, as in MATLAB


@compiled
def local_mse(difference, first, last, out):  # type: ignore[no-untyped-def]
    """Compute the mean square over the 16 × 16 pixels around each pixel.

    Beyond the edge, the picture is mirrored, and its outermost samples are repeated. Each window is
    summed anew: a running sum would carry rounding errors from bright areas into flat ones.

    Parameters
    ----------
    difference : (M, N)
        Difference of two filtered pictures.
    first, last : int
        Rows first … last − 1 are computed.
    out : (M, N)
    """
    height, width = difference.shape
    column = np.empty(width + 15)
    for i in range(first, last):
        inner = column[BEFORE : BEFORE + width]
        inner[:] = 0
        for r in range(i - BEFORE, i - BEFORE + BLOCK):
            row = difference[_mirrored(r, height)]
            for j in range(width):
                inner[j] += row[j] * row[j]
        for j in range(BEFORE):
            column[j] = inner[BEFORE - 1 - j]
        for j in range(15 - BEFORE):
            column[BEFORE + width + j] = inner[width - 1 - j]
        for shift in (1, 2, 4, 8):  # sums of 2, 4, 8, 16 neighbours
            for j in range(width + 16 - 2 * shift):
                column[j] += column[j + shift]
        for j in range(width):
            out[i, j] = column[j] / BLOCK**2


@compiled
def _mirrored(index, size):  # type: ignore[no-untyped-def]
    """Return the index inside 0 … size − 1 that an index beyond the edge is mirrored to."""
    if index < 0:
        return -1 - index
    return 2 * size - 1 - index if index >= size else index
