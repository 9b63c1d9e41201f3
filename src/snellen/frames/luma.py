"""Luma as code values, and as floats: black 0 and white 1.

Planes in host memory are NumPy's; those on a GPU are CuPy's, and go through the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library
from snellen.frames.frame import Format, Plane

Float32 = npt.NDArray[np.float32]

BLACK, WHITE = 16, 235
"""Luma of limited range at 8 bits; ITU-R BT.601, BT.709, BT.2020."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Integer samples of luma: their type, and the code values of black and white."""

    dtype: str
    """"uint8" or "uint16"."""
    black: float
    """Black."""
    white: float
    """White."""
    most: int
    """Greatest code value."""

    @classmethod
    def of(cls, format: Format) -> Codes | None:
        """Return those of a format; None: its samples are floats."""
        if not format.bits:
            return None
        return cls(np.dtype(format.dtype).name, *levels(format), (1 << format.bits) - 1)


def levels(format: Format) -> tuple[float, float]:
    """Return the code values of black and white of luma."""
    if format.full_range:
        return 0.0, float((1 << format.bits) - 1)
    return float(BLACK << (format.bits - 8)), float(WHITE << (format.bits - 8))


def samples(luma: Plane, format: Format) -> Float32:
    """Return luma as float32, black 0 and white 1; values below black become 0."""
    black, white = levels(format)
    if isinstance(luma, np.ndarray) and luma.dtype.kind == "u":
        codes: Any = luma
        looked_up: Float32 = _table(luma.dtype.name, black, white).take(codes)
        return looked_up
    return _floats(luma, black, white)


@lru_cache(maxsize=16)
def _table(dtype: str, black: float, white: float) -> Float32:
    """Return the float of each code value: one look-up a sample, in place of four passes."""
    codes: Plane = np.arange(np.iinfo(dtype).max + 1, dtype=dtype)
    table = _floats(codes, black, white)
    table.flags.writeable = False
    return table


def _floats(luma: Plane, black: float, white: float) -> Float32:
    above = luma.astype(np.float32) - np.float32(black)
    floats: Float32 = library(luma).maximum(above / np.float32(white - black), 0)
    return floats
