"""Steps 1 to 4 of A+ as one linear filter for each dimension of a feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS
from snellen.aplus.model import Model
from snellen.frames.bicubic import TAPS, cubic

Float64 = npt.NDArray[np.float64]


def side(window: int) -> int:
    """Return the side of a filter in low-resolution pixels.

    It covers the window and, on each side, a tap of the differences and two of bicubic.
    """
    return window + 6


def compose(model: Model) -> Float64:
    """Return the filters (side, side, d): a feature is the sum of pixels · filter at its window.

    Like differences, filters sum to 0 within rounding.
    """
    s, w = model.scale, model.window
    enlarged = _enlarge(s, w)
    inner = enlarged[s : s + w * s]
    ahead, behind = (s + 1) // 2, s // 2
    rows = np.arange(s, s + w * s)
    first = enlarged[rows + ahead] - enlarged[rows - behind]
    if model.strengths is not None:  # centred, see `differences.differences`
        first = (first + enlarged[rows + behind] - enlarged[rows - ahead]) / 2
    second = (enlarged[rows + s] + enlarged[rows - s]) / 2 - enlarged[rows]
    basis = model.basis.astype(np.float64).reshape(FILTERS, w * s, w * s, -1)  # [f, x, y, d]
    across_and_down = ((first, inner), (inner, first), (second, inner), (inner, second))
    out = np.zeros((side(w), side(w), basis.shape[-1]))
    for part, (across, down) in zip(basis, across_and_down, strict=True):
        out += np.einsum("xyd,yi,xj->ijd", part, down, across, optimize=True)
    return out


def _enlarge(scale: int, window: int) -> Float64:
    """Return bicubic along one axis as a matrix ((window + 2) · s, side)."""
    # It maps `side` low-resolution pixels to the window and one low-resolution pixel on each side.
    pixels = window + 2
    out = np.zeros((pixels * scale, side(window)))
    for i in range(len(out)):
        position = np.float64((i + 0.5) / scale - 0.5 + 2)  # the filter begins two pixels earlier
        taps = int(np.floor(position)) - 1 + np.arange(TAPS)
        out[i, taps] = cubic(np.asarray(position - taps, np.float64))
    return out
