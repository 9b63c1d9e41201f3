"""Single stages of A+ in NumPy or on the CPU, and how their results lie in memory."""

from __future__ import annotations

import numpy as np

from snellen.aplus.cuda.regress import cell
from snellen.aplus.overlap import overlap


def filtered(plane, filters):
    """All features of a plane, its edges replicated: (height, width, d)."""
    radius = len(filters) // 2
    wide = np.pad(np.asarray(plane, np.float64), radius, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, filters.shape[:2])
    return np.einsum("hwij,ijd->hwd", windows, filters, optimize=True)


def places(model):
    """Where in a row the samples of a patch lie that the model has column by column."""
    s, w = model.scale, model.window
    found = []
    for x in range(w * s):
        for y in range(w * s):
            number = y // s * w + x // s  # of the low-resolution cell
            found.append(number * cell(s) + y % s * s + x % s)
    return found


def whole(patches, mid, scale, window):
    size = (patches.shape[0], patches.shape[2])
    out = np.full(mid.shape, np.nan, np.float32)
    overlap(patches, mid, scale, window, 0, 0, size, out)
    return out
