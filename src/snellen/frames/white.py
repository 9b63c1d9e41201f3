"""The sample value of white, `data_range`: one rule for `upscale`, `score` and `deblur`.

Black is 0. Where the caller does not state white it is the greatest value of integers, and 1 of
floats: then floats far beyond 1 are refused, since they have another range.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.errors import InputError, quoted
from snellen.frames import values
from snellen.frames.axes import check_dtype

LEAST, MOST = 1e-30, 1e30  # of the value of white: float32 holds their squares
BEYOND = 1.5  # times white: what floats may reach by overshoot where their range is not stated


def white(dtype: np.dtype[Any], data_range: object) -> float:
    """Return the sample value of white of samples of a type.

    InputError: a type that no method takes, or a `data_range` that is no positive number, or beyond
    the greatest of integers.
    """
    check_dtype(dtype)
    most = float(np.iinfo(dtype).max) if dtype.kind == "u" else None
    if data_range is None:
        return 1.0 if most is None else most
    peak = stated(data_range)
    if most is not None and peak > most:
        raise InputError(
            f"`data_range`={quoted(data_range)}; expected at most {most:g}, the greatest {dtype}",
            parameter="data_range",
        )
    return peak


def stated(data_range: object, name: str = "data_range") -> float:
    """Return a value of white (InputError: it is no positive number); `name` is its parameter's."""
    found = values.number(data_range)
    if found is None or not LEAST <= found <= MOST:
        raise InputError(
            f"`{name}`={quoted(data_range)}; expected the value of white, as 1, 255 or 1023",
            parameter=name,
        )
    return found


def beyond(least: float, most: float, peak: float, name: str = "data_range") -> InputError:
    """Return the error about samples that are not within the range of black and white."""
    return InputError(
        f"got samples from {least:g} to {most:g}; expected 0 to {peak:g}",
        parameter=name,
        advice=f"state another `{name}`, or clip the samples first",
    )
