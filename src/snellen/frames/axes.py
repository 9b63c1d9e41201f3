"""Axes and samples of an array of pictures: one answer for `upscale`, `score` and `deblur`.

An array holds grey pictures (…, H, W) or pictures with channels last (…, H, W, C). Leading axes are
a batch, or the frames of one object where a method takes such. Arrays are NumPy's or CuPy's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames.arrays import library

Array = Any
"""An array of NumPy or CuPy."""

DTYPES = ("uint8", "uint16", "float16", "float32", "float64")
"""Types of samples that every method takes."""
NOT_FINITE = "a picture holds NaN or infinity"
REPLACE = "replace these samples first"


@dataclass(frozen=True, slots=True)
class Axes:
    """Which axes of an array are the batch, the frames, the rows and columns, and the channels."""

    batch: tuple[int, ...]
    """Leading axes: pictures that have nothing to do with each other; () for one picture."""
    frames: tuple[int, ...]
    """(M,) where the array holds M frames of one object, else ()."""
    size: tuple[int, int]
    """Rows and columns of a picture."""
    channels: tuple[int, ...]
    """(C,) where the last axis holds channels, else ()."""

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        channels: tuple[int, ...] = (3,),
        *,
        least: int = 1,
        frames: bool = False,
    ) -> Axes:
        """Return the axes of an array of this shape.

        `channels` are lengths of the last of three or more axes that make it the axis of channels,
        `least` is that of rows and columns of a picture. With `frames` the first axis holds frames
        of one object; then there is no batch. InputError: the array has too few axes, or too small
        pictures.
        """
        shape = tuple(shape)
        colour = len(shape) >= 3 and shape[-1] in channels
        lead = len(shape) - 2 - colour
        if (
            lead < frames
            or (frames and (lead > 1 or not shape[0]))
            or min(shape[lead : lead + 2]) < least
        ):
            size = "one pixel" if least == 1 else f"{least}×{least} pixels"
            front, last = "M" if frames else "…", " or ".join(map(str, channels))
            colours = f" or ({front}, H, W, {last})" if channels else ""
            raise InputError(
                f"got an array of shape {shape}; expected ({front}, H, W){colours}, with at least "
                f"{size}"
            )
        before, size_ = shape[:lead], (shape[lead], shape[lead + 1])
        batch, together = ((), before) if frames else (before, ())
        return cls(batch, together, size_, shape[-1:] if colour else ())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array with these axes."""
        return (*self.batch, *self.frames, *self.size, *self.channels)

    def scaled(self, scale: int) -> Axes:
        """Return the axes of an array whose rows and columns are so many times as many."""
        return replace(self, size=(self.size[0] * scale, self.size[1] * scale))

    def pictures(self, array: Array) -> Array:
        """Return the array as (N, rows, columns) or (N, rows, columns, C), N of all pictures."""
        count = prod(self.batch) * prod(self.frames)
        return array.reshape(count, *self.size, *self.channels)

    def planes(self, array: Array) -> Array:
        """Return the channels of all frames of all pictures: (C, N, M, rows, columns)."""
        xp = library(array)
        shape = (prod(self.batch), prod(self.frames), *self.size, prod(self.channels))
        return xp.ascontiguousarray(xp.moveaxis(array.reshape(shape), -1, 0))

    def image(self, planes: Array) -> Array:
        """Return planes (C, N, rows, columns) as an array of these axes, without the frames."""
        xp = library(planes)
        last = xp.ascontiguousarray(xp.moveaxis(planes, 0, -1))
        return last.reshape(*self.batch, *self.size, *self.channels)


def check_dtype(dtype: np.dtype[Any]) -> None:
    """Refuse (InputError) samples of a type that no method takes."""
    if not _is_taken(dtype):
        advice = None
        if dtype.kind in "bi":
            advice = "convert it: image.astype(np.uint8), or to uint16 or a float with `data_range`"
        raise InputError(f"got dtype {dtype}; expected one of {', '.join(DTYPES)}", advice=advice)


@lru_cache(maxsize=64)
def _is_taken(dtype: np.dtype[Any]) -> bool:
    """Return whether the name of a type, which NumPy composes anew each time, is in DTYPES."""
    return dtype.name in DTYPES


def check_finite(array: Array) -> None:
    """Refuse (InputError) NaN and infinity."""
    if array.dtype.kind == "f" and not library(array).isfinite(array).all():
        raise InputError(NOT_FINITE, advice=REPLACE)
