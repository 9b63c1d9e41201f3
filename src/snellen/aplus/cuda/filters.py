"""Steps 1 to 4 of A+ composed: all are linear, so each dimension of a feature is one filter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS
from snellen.aplus.model import Model
from snellen.frames.bicubic import TAPS, cubic

Float64 = npt.NDArray[np.float64]


def side(window: int) -> int:
    """Low-resolution pixels across a filter: the window, a tap and two of bicubic on each side."""
    return window + 6


def compose(model: Model) -> Float64:
    """Return the filters (side, side, d): a feature is the sum of pixels · filter at its window.

    Filters sum to zero up to rounding, as differences do.
    """
    s, w = model.scale, model.window
    whole = _enlarge(s, w)
    inner = whole[s : s + w * s]
    ahead, behind = (s + 1) // 2, s // 2
    rows = np.arange(s, s + w * s)
    first = whole[rows + ahead] - whole[rows - behind]
    second = (whole[rows + s] + whole[rows - s]) / 2 - whole[rows]
    basis = model.basis.astype(np.float64).reshape(FILTERS, w * s, w * s, -1)  # [f, x, y, d]
    across_and_down = ((first, inner), (inner, first), (second, inner), (inner, second))
    out = np.zeros((side(w), side(w), basis.shape[-1]))
    for part, (across, down) in zip(basis, across_and_down, strict=True):
        out += np.einsum("xyd,yi,xj->ijd", part, down, across, optimize=True)
    return out


def _enlarge(scale: int, window: int) -> Float64:
    """Return bicubic along one axis as a matrix: window and a pixel each side ← side pixels."""
    pixels = window + 2
    out = np.zeros((pixels * scale, side(window)))
    for i in range(len(out)):
        position = np.float64((i + 0.5) / scale - 0.5 + 2)  # the filter begins two pixels earlier
        taps = int(np.floor(position)) - 1 + np.arange(TAPS)
        out[i, taps] = cubic(np.asarray(position - taps, np.float64))
    return out
