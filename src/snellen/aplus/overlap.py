"""Steps 6 and 7 of A+: each output pixel is the low frequency plus the mean of its patches.

All windows that cover a pixel carry the same low frequency there, so the mean of (patch + window
of mid) is mid + mean of patches. Gathered by output pixel: no races, the same bytes each run.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def reach(pixel, size, window):  # type: ignore[no-untyped-def]
    """Window centres [first, last] that predict a low-resolution pixel, along one axis.

    The authors leave out windows within one pixel of the picture's edge. Their windows alone
    predict every pixel but the outermost, which falls to the windows of the extended picture.
    """
    half = window // 2
    return max(half + 1, pixel - half), min(size - 2 - half, pixel + half)


@numba.njit(nogil=True, cache=True)
def overlap(patches, mid, scale, window, first_row, first_patch, size, out):  # type: ignore[no-untyped-def]
    """Sum up the patches of a strip of low-resolution rows.

    Parameters
    ----------
    patches : (rows, n, (w·s)²) float32
        Patches of the windows centred on whole rows, column by column.
    mid : (·, ·) float32
        Low frequency; mid[0, 0] belongs to the same place as out[0, 0].
    first_row, first_patch : int
        Low-resolution row of out[0] and of patches[0].
    size : (int, int)
        Height and width of the low-resolution picture.
    out : (s·r, s·n) float32
    """
    height, width = size
    half = window // 2
    side = window * scale
    tiny = min(height, width) < window + 2
    total = np.empty((scale, scale), np.float32)
    for r in range(out.shape[0] // scale):
        row = first_row + r
        for column in range(width):
            edge = row == 0 or row == height - 1 or column == 0 or column == width - 1
            if edge or tiny:
                top, bottom = max(0, row - half), min(height - 1, row + half)
                left, right = max(0, column - half), min(width - 1, column + half)
            else:
                top, bottom = reach(row, height, window)
                left, right = reach(column, width, window)
            total[:] = 0
            for b in range(left, right + 1):
                kx = (column - b + half) * scale
                for a in range(top, bottom + 1):
                    ky = (row - a + half) * scale
                    patch = patches[a - first_patch, b]
                    for x in range(scale):
                        for y in range(scale):
                            total[y, x] += patch[(kx + x) * side + ky + y]
            share = np.float32(1) / np.float32((bottom - top + 1) * (right - left + 1))
            for y in range(scale):
                for x in range(scale):
                    i, j = r * scale + y, column * scale + x
                    out[i, j] = mid[i, j] + total[y, x] * share
