"""Linear red, green and blue of pictures, as metrics of colours take them.

Samples of SDR count as sRGB's: BT.709 primaries, and the transfer function of IEC 61966-2-1,
which is the one that a metric's own program gives to the PNG files that FFmpeg makes of a film. It
is computed as by SSIMULACRA 2's program, in float32: that of the standard, off by its rounding,
would change scores of some pictures by 0.09 points (`ssimulacra2.definition.recursion`).
Chroma is interpolated linearly at the places that the siting says. Nothing is rounded to code
values on the way; what lies below black or above white counts as black or white.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool, results
from snellen.cpu.threads import available
from snellen.frames.coding import Matrix, to_rgb
from snellen.frames.frame import Format
from snellen.frames.luma import levels

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]

# Transfer function of v: from KNEE on ABOVE(v) / BELOW(v), polynomials from the constant term up;
# before it v / SLOPE. libjxl, lib/jxl/transfer_functions-inl.h, TF_SRGB
KNEE, SLOPE = 0.04045, 12.92
ABOVE = (2.200248328e-04, 1.043637593e-02, 1.624820318e-01, 7.961564959e-01, 8.210152774e-01)
BELOW = (2.631846970e-01, 1.076976492e00, 4.987528350e-01, -5.512498495e-02, 6.521209011e-03)

_ENTRIES = 8192
"""Steps of the table of the transfer function: linear between them, off by 6e-9 at most."""
_ROWS = 64
"""Rows that a task converts."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How the samples of a picture stand for colours."""

    format: Format
    """The format of the planes; without `matrix` its bits or its `white` say what white is."""
    matrix: Matrix | None = None
    """The matrix of luma, blue and red difference; None: planes are red, green and blue, or one
    of grey."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture as its file has it."""

    planes: tuple[Array, ...]
    """(H, W) of luma and two of chroma, or red, green and blue; or one of grey."""
    coding: Coding

    def linear(self) -> Float32:
        """Return red, green and blue (3, H, W), linear in light: black is 0, white is 1."""
        planes, coding = self.planes, self.coding
        if len(planes) == 1:
            grey = _levels(planes[0], *_ends(coding))
            return np.ascontiguousarray(np.broadcast_to(grey, (3, *grey.shape)))
        if coding.matrix is None:
            return np.stack([_levels(plane, *_ends(coding)) for plane in planes])
        return _of_chroma(planes, coding.format, coding.matrix)


def of_rgb(pixels: Array, white: float) -> Picture:
    """Return the Picture of an array (H, W) grey or (H, W, 3) RGB, of which `white` is the peak."""
    height, width = pixels.shape[:2]
    planes = (pixels,) if pixels.ndim == 2 else tuple(np.moveaxis(pixels, -1, 0))
    return Picture(planes, Coding(Format(width, height, 0, white=white)))


def srgb(values: Array) -> Float32:
    """Return values 0 … 1 of sRGB, linear in light, within 3e-7 of IEC 61966-2-1."""
    values = np.clip(values, 0.0, 1.0, dtype=np.float32)
    dark = values * (np.float32(1) / np.float32(SLOPE))
    bright: Float32 = _polynomial(values, ABOVE) / _polynomial(values, BELOW)
    return np.where(values <= np.float32(KNEE), dark, bright)


def _polynomial(x: Float32, factors: tuple[float, ...]) -> Float32:
    """Return a polynomial, of which each product and sum together are rounded once."""
    total = np.full_like(x, factors[-1])
    for factor in factors[-2::-1]:
        total = (total.astype(np.float64) * x + np.float64(np.float32(factor))).astype(np.float32)
    return total


def _ends(coding: Coding) -> tuple[float, float]:
    """Return the sample values of black and white of grey, or of red, green and blue."""
    format = coding.format
    return levels(format) if format.bits else (0.0, format.white or 1.0)


def _levels(plane: Array, black: float, white: float) -> Float32:
    """Return samples of grey or of a colour, linear in light."""
    if plane.dtype.kind != "u":
        return srgb((plane - black) / (white - black))
    found: Float32 = _of_codes(plane.dtype.name, black, white).take(plane)
    return found


@lru_cache(maxsize=8)
def _of_codes(dtype: str, black: float, white: float) -> Float32:
    """Return the linear value of each code value."""
    codes = np.arange(np.iinfo(dtype).max + 1, dtype=np.float32)
    return _constant(srgb((codes - np.float32(black)) * np.float32(1 / (white - black))))


@lru_cache(maxsize=1)
def _transfer() -> Float32:
    """Return linear values of 0, 1 / _ENTRIES … 1, and of 1 once more."""
    return _constant(srgb(np.minimum(np.arange(_ENTRIES + 2) / _ENTRIES, 1)))


def _constant(values: Float32) -> Float32:
    values.flags.writeable = False
    return values


def _of_chroma(planes: tuple[Array, ...], format: Format, matrix: Matrix) -> Float32:
    height, width = planes[0].shape
    out = np.empty((3, height, width), np.float32)
    subsampling = format.subsampling or (0, 0)
    across = _places(width, planes[1].shape[1], subsampling[0], format.siting[0])
    down = _places(height, planes[1].shape[0], subsampling[1], format.siting[1])
    # Blocks of rows are converted side by side, each into its own part of `out`.
    given = *planes, *down, *across, to_rgb(matrix, format).astype(np.float32), _transfer(), out
    tops = range(0, height, _ROWS)
    with Pool(min(available(), len(tops)), "snellen-colours") as pool:
        results([pool.submit(_block, given, top, min(top + _ROWS, height)) for top in tops])
    return out


def _block(given: tuple[Array, ...], first: int, last: int) -> None:
    lines = np.empty((2, given[1].shape[1]), np.float32)
    _convert(*given, lines, first, last)


def _places(
    luma: int, chroma: int, shift: int, siting: float
) -> tuple[npt.NDArray[np.int32], Float32]:
    """Return the chroma sample before each luma sample of an axis, and the share of the next."""
    if not shift:
        siting = 0.5
    place = np.clip((np.arange(luma) + 0.5) / (1 << shift) - siting, 0, chroma - 1)
    before = np.minimum(place.astype(np.int32), max(chroma - 2, 0))
    return before, (place - before).astype(np.float32)


@compiled(strided=("luma", "cb", "cr"))
def _convert(  # type: ignore[no-untyped-def]
    luma, cb, cr, rows, row_parts, columns, column_parts, to_rgb, transfer, out, lines, first, last
):
    """Fill rows `first` … `last` − 1 of `out`; `lines` is scratch, a row of both chroma planes."""
    end, zero, one = np.float32(transfer.shape[0] - 2), np.float32(0), np.float32(1)
    for i in range(first, last):
        above, t = rows[i], row_parts[i]
        below = min(above + 1, cb.shape[0] - 1)
        for j in range(lines.shape[1]):
            lines[0, j] = (one - t) * np.float32(cb[above, j]) + t * np.float32(cb[below, j])
            lines[1, j] = (one - t) * np.float32(cr[above, j]) + t * np.float32(cr[below, j])
        for x in range(luma.shape[1]):
            before, t = columns[x], column_parts[x]
            after = min(before + 1, lines.shape[1] - 1)
            y = np.float32(luma[i, x])
            u = lines[0, before] + t * (lines[0, after] - lines[0, before])
            v = lines[1, before] + t * (lines[1, after] - lines[1, before])
            for c in range(3):
                value = to_rgb[c, 0] * y + to_rgb[c, 1] * u + to_rgb[c, 2] * v + to_rgb[c, 3]
                value = min(max(value, zero), one) * end
                at = int(value)
                low = transfer[at]
                out[c, i, x] = low + (value - np.float32(at)) * (transfer[at + 1] - low)
