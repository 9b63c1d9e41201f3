"""Detection, step 4: the local mean squared error."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled
from snellen.mad.definition import BLOCK

BEFORE = 7  # a window covers i − 7 … i + 8, as MATLAB's filter of an even size does


@compiled
def local_mse(difference, first, last, out):  # type: ignore[no-untyped-def]
    """Mean of squares over 16 × 16 pixels around each, the edge mirrored with its own sample.

    Each window is summed anew: a running sum would carry rounding from bright places into flat
    ones.

    Parameters
    ----------
    difference : (M, N)
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
        for reach in (1, 2, 4, 8):  # sums of 2, 4, 8, 16 neighbours
            for j in range(width + 16 - 2 * reach):
                column[j] += column[j + reach]
        for j in range(width):
            out[i, j] = column[j] / BLOCK**2


@compiled
def _mirrored(index, size):  # type: ignore[no-untyped-def]
    if index < 0:
        return -1 - index
    return 2 * size - 1 - index if index >= size else index
