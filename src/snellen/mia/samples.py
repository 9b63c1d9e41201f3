"""Samples of pictures: the types that are accepted, the value of white, and scaling to 0 … 1.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames.arrays import library
from snellen.frames.axes import NOT_FINITE as NO_NUMBERS
from snellen.frames.axes import REPLACE, check_dtype

LARGEST = 1000.0
"""Of white: more is no highlight but another range, and sums of squares shall stay within float32.
Ours."""

NOT_FINITE, NEGATIVE, TOO_LARGE = 1, 2, 4  # what is wrong with samples, as bits


def white(dtype: np.dtype[Any], data_range: float | None) -> float:
    """Return the sample value of white; by default the greatest of integers, 1 of floats.

    Raises
    ------
    InputError
        The type of the samples is not accepted.
    """
    check_dtype(dtype)
    if data_range is None:
        return float(np.iinfo(dtype).max) if dtype.kind == "u" else 1.0
    return data_range


def wrong(samples: Any, peak: float) -> int:
    """Return what is wrong with samples: 0, or NOT_FINITE, NEGATIVE, TOO_LARGE, together."""
    if not samples.size:
        return 0
    if samples.dtype.kind == "u":
        return TOO_LARGE * (float(samples.max()) > LARGEST * peak)
    if not library(samples).isfinite(samples).all():
        return NOT_FINITE
    too_large = TOO_LARGE * (float(samples.max()) > LARGEST * peak)
    return NEGATIVE * bool(samples.min() < 0) | too_large


def flat(frames: Any) -> Any:
    """Return of which pictures (B, M, rows, columns) all samples are one value: (B,) bool."""
    return frames.min((1, 2, 3)) == frames.max((1, 2, 3))


def refuse(found: int, peak: float) -> None:
    """Raise what `wrong` found.

    Raises
    ------
    InputError
        Anything.
    """
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
    """Return samples as floats, white being 1."""
    factor = np.dtype(dtype).type(peak)
    if isinstance(samples, np.ndarray):
        return np.divide(samples, factor, dtype=dtype, casting="unsafe")
    return samples.astype(dtype, copy=False) / factor


def finished(plane: Any, peak: float, dtype: np.dtype[Any]) -> Any:
    """Return floats, white being 1, as samples: integers rounded and clipped to 0 … white."""
    xp = library(plane)
    real = plane * plane.dtype.type(peak)
    if dtype.kind == "u":
        most = min(peak, float(np.iinfo(dtype).max))
        return xp.rint(real.clip(0, most)).astype(dtype)
    most = min(float(np.finfo(kind).max) for kind in (dtype, real.dtype))
    return real.clip(0, most).astype(dtype, copy=False)
