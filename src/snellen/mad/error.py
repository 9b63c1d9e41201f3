"""Detection, step 4: the local mean squared error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.mad.definition import BLOCK

AREA = BLOCK**2
BEFORE = 7  # pixels of a window before its own: it covers i − 7 … i + 8, as in MATLAB


Float64 = npt.NDArray[np.float64]


def local_mse(difference: Float64, first: int, last: int, out: Float64) -> None:
    """Compute in `out` (M, N) the mean square over the 16 × 16 pixels around each pixel.

    Of a difference (M, N) of filtered pictures, in rows first … last − 1. Beyond the edge, the
    picture is mirrored, and its outermost samples are repeated. Each window is summed anew: a
    running sum would carry rounding errors from bright areas into flat ones.
    """
    _local_mse(difference, first, last, np.empty(difference.shape[1] + 15), out)


@compiled
def _local_mse(difference, first, last, column, out):  # type: ignore[no-untyped-def]
    height, width = difference.shape[0], difference.shape[1]
    for i in range(first, last):
        inner = column[BEFORE : BEFORE + width]
        for j in range(width):
            inner[j] = 0
        for r in range(i - BEFORE, i - BEFORE + BLOCK):
            mirrored = r
            if r < 0:
                mirrored = -1 - r
            elif r >= height:
                mirrored = 2 * height - 1 - r
            row = difference[mirrored]
            for j in range(width):
                inner[j] += row[j] * row[j]
        for j in range(BEFORE):
            column[j] = inner[BEFORE - 1 - j]
        for j in range(15 - BEFORE):
            column[BEFORE + width + j] = inner[width - 1 - j]
        shift = 1
        while shift <= 8:  # sums of 2, 4, 8, 16 neighbours
            for j in range(width + 16 - 2 * shift):
                column[j] += column[j + shift]
            shift *= 2
        for j in range(width):
            out[i, j] = column[j] / AREA
