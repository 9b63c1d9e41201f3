"""Samples of pictures: accepted values, and scaling to 0 … 1.

The functions take NumPy or CuPy arrays and return arrays of the same library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames.arrays import library
from snellen.frames.axes import NOT_FINITE as NO_NUMBERS
from snellen.frames.axes import REPLACE

LARGEST = 1000.0
"""Greatest sample relative to white. More is not a highlight but another range, and float32 must
hold sums of squares. Our value."""

NOT_FINITE, NEGATIVE, TOO_LARGE = 1, 2, 4  # faults of samples, as bits


def wrong(samples: Any, peak: float, largest: float = LARGEST) -> int:
    """Return the faults of samples: a sum of NOT_FINITE, NEGATIVE and TOO_LARGE, or 0.

    Too large are those beyond `largest` times white.
    """
    if not samples.size:
        return 0
    if samples.dtype.kind == "u":
        most = largest * peak
        possible = float(np.iinfo(samples.dtype).max) > most
        return TOO_LARGE * (possible and float(samples.max()) > most)
    if not library(samples).isfinite(samples).all():
        return NOT_FINITE
    too_large = TOO_LARGE * (float(samples.max()) > largest * peak)
    return NEGATIVE * bool(samples.min() < 0) | too_large


def flat(frames: Any) -> Any:
    """Return which of the pictures (B, M, rows, columns) are constant: (B,) bool."""
    return frames.min((1, 2, 3)) == frames.max((1, 2, 3))


def refuse(found: int, peak: float) -> None:
    """Raise an InputError for the faults that `wrong` has found, if there are any."""
    if found & NOT_FINITE:
        raise InputError(
            NO_NUMBERS, advice=f"{REPLACE}; in float32 numbers beyond 3e38 count as infinity, too"
        )
    if found & NEGATIVE:
        raise InputError(
            "a picture has negative samples; expected 0, no light, or more",
            advice="subtract the camera's black level, or clip the samples at 0",
        )
    if found & TOO_LARGE:
        raise InputError(
            f"got samples of more than {LARGEST:g} times white, which is {peak:g}",
            parameter="data_range",
            advice="state the value of white as `data_range`",
        )


def scaled(samples: Any, peak: float, dtype: Any) -> Any:
    """Return samples as floats of a dtype, scaled so that white is 1."""
    factor = np.dtype(dtype).type(peak)
    if isinstance(samples, np.ndarray):
        return np.divide(samples, factor, dtype=dtype, casting="unsafe")
    return samples.astype(dtype, copy=False) / factor


def finished(plane: Any, peak: float, dtype: np.dtype[Any]) -> Any:
    """Return floats, whose white is 1, as samples: integers rounded and clipped to 0 … white."""
    xp = library(plane)
    real = plane * plane.dtype.type(peak)
    if dtype.kind == "u":
        most = min(peak, float(np.iinfo(dtype).max))
        return xp.rint(real.clip(0, most, out=real), out=real).astype(dtype)
    most = min(float(np.finfo(kind).max) for kind in (dtype, real.dtype))
    return real.clip(0, most, out=real).astype(dtype, copy=False)
