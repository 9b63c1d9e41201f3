"""Brings samples of another range or matrix to those of a film's first frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.coding import NUMBERS
from snellen.frames.frame import Format, Plane

Recolour = Callable[[tuple[Plane, ...]], tuple[Plane, ...]]
"""Returns the planes of a frame with the samples that they have as the first frame states them."""
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Coding:
    """How samples stand for colours."""

    matrix: int
    """AVCOL_SPC."""
    full: bool
    """True: they have full range."""


def recolour(given: Coding, wanted: Coding, format: Format) -> Recolour | None:
    """Return what converts pictures of a format; None: the matrices are none of red and blue.

    Another range costs half a code of the wanted one at most. For another matrix, chroma is
    interpolated linearly where luma depends on it; chroma itself does not depend on luma.
    """
    same = given.matrix == wanted.matrix or format.subsampling is None
    if same:
        return _ranges(given.full, wanted.full, format)
    if given.matrix not in NUMBERS or wanted.matrix not in NUMBERS:
        return None
    mix = (_from_rgb(wanted.matrix) @ np.linalg.inv(_from_rgb(given.matrix))).astype(np.float32)

    def convert(planes: tuple[Plane, ...]) -> tuple[Plane, ...]:
        low, span = _scale(format.bits, given.full, 0)
        y = (planes[0].astype(np.float32) - low) / span
        middle, reach = _scale(format.bits, given.full, 1)
        blue, red = ((one.astype(np.float32) - middle) / reach for one in planes[1:])
        y += mix[0, 1] * _at_luma(blue, format) + mix[0, 2] * _at_luma(red, format)
        chroma = [row[1] * blue + row[2] * red for row in mix[1:]]
        return tuple(
            _coded(one, _scale(format.bits, wanted.full, min(number, 1)), planes[0].dtype, format)
            for number, one in enumerate((y, *chroma))
        )

    return convert


def _ranges(given: bool, wanted: bool, format: Format) -> Recolour:
    """Return what converts samples of one range to another, by a table for luma and chroma."""
    codes = np.arange(1 << (8 * format.dtype.itemsize), dtype=np.float64)
    tables = []
    for number in (0, 1):
        low, span = _scale(format.bits, given, number)
        values = (codes - low) / span
        tables.append(_coded(values, _scale(format.bits, wanted, number), format.dtype, format))

    def convert(planes: tuple[Plane, ...]) -> tuple[Plane, ...]:
        return tuple(tables[min(number, 1)][one] for number, one in enumerate(planes))

    return convert


def _scale(bits: int, full: bool, number: int) -> tuple[float, float]:
    """Return the code of 0 and the codes from there to 1 of luma (0) or chroma (1)."""
    unit = 1 << (bits - 8)
    most = (1 << bits) - 1
    if number:
        return 128 * unit, most if full else 224 * unit
    return (0, most) if full else (16 * unit, 219 * unit)


def _coded(values: Any, scale: tuple[float, float], dtype: np.dtype[Any], format: Format) -> Plane:
    codes = np.rint(values * scale[1] + scale[0])
    found: Plane = np.clip(codes, 0, (1 << format.bits) - 1).astype(dtype)
    return found


def _from_rgb(matrix: int) -> npt.NDArray[np.float64]:
    """Return the matrix that makes luma, blue and red difference of RGB."""
    red, blue = NUMBERS[matrix].red, NUMBERS[matrix].blue
    luma = np.array([red, 1 - red - blue, blue])
    b = (np.array([0.0, 0.0, 1.0]) - luma) / (2 * (1 - blue))
    r = (np.array([1.0, 0.0, 0.0]) - luma) / (2 * (1 - red))
    return np.stack([luma, b, r])


def _at_luma(plane: Floats, format: Format) -> Floats:
    """Return chroma at the places of luma samples, linearly interpolated."""
    shifts = (format.subsampling or (0, 0))[::-1]
    sizes = format.height, format.width
    for axis, (shift, size, siting) in enumerate(
        zip(shifts, sizes, format.siting[::-1], strict=True)
    ):
        if shift:
            place = (np.arange(size) + 0.5) / (1 << shift) - siting
            place = np.clip(place, 0, plane.shape[axis] - 1)
            before = np.minimum(place.astype(np.intp), max(plane.shape[axis] - 2, 0))
            after = np.minimum(before + 1, plane.shape[axis] - 1)
            share = (place - before).astype(np.float32)
            share = share[:, None] if axis == 0 else share
            low, high = plane.take(before, axis), plane.take(after, axis)
            plane = low + share * (high - low)
    return plane
