"""Last step: from maps of blocks to maps of pixels, to HI and LO, to MAD."""

from __future__ import annotations

from math import exp, isfinite, log, sqrt
from typing import Any

import numpy as np

from snellen.mad.definition import MARGIN, STEP

# Larson & Chandler 2010, equation (9), as in the authors' code: a lower HI counts for more.
B1 = exp(-2.55 / 3.35)
B2 = 1 / (log(10) * 3.35)


def tiles(plane: Any, rows: int, columns: int) -> Any:
    """Set the pixels that no block fills to 0, and return a view of the others by block.

    `plane` (M, N) is a map of pixels, NumPy's or CuPy's, changed in place; rows and columns are
    those of `definition.grid`. In the view (rows, 4, columns, 4) block (a, b) fills [a, :, b, :].
    """
    high, wide = STEP * rows, STEP * columns
    plane[high:] = 0
    plane[:, wide:] = 0
    return plane[:high, :wide].reshape(rows, STEP, columns, STEP)


def rms(plane: Any) -> float:
    """Return the root mean square of a map of pixels without its margin, summed in float64."""
    first, last = MARGIN
    inner = plane[first : plane.shape[0] - last, first : plane.shape[1] - last]
    return sqrt(float((inner.astype(np.float64) ** 2).mean()))


def mad(hi: float, lo: float) -> float:
    """Return MAD = HI^sig · LO^(1 − sig), where sig falls from 1 with HI; 0 if HI is 0."""
    if not isfinite(hi + lo):  # return NaN for NaN: NaN ** 0 would be 1
        return hi + lo
    sig = 1 / (1 + B1 * hi**B2)
    return float(hi**sig * lo ** (1 - sig))
