"""Code values of Y, Cb and Cr ⇄ red, green and blue, by ITU-T H.273 (clauses 8.3 and 8.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.frames.luma import levels

Float64 = npt.NDArray[np.float64]

_HD_COLUMNS, _SD_ROWS = 1280, 576
"""Films of so many columns, or of more rows, are taken for BT.709 where they state no matrix, and
others for BT.601, as in what the output states."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Weights of red and blue in luma; green has the rest."""

    name: str
    red: float
    blue: float


BT709 = Matrix("bt709", 0.2126, 0.0722)
BT601 = Matrix("bt601", 0.299, 0.114)
BT2020 = Matrix("bt2020", 0.2627, 0.0593)
_FCC = Matrix("fcc", 0.30, 0.11)
_SMPTE240M = Matrix("smpte240m", 0.212, 0.087)

NAMED = {one.name: one for one in (BT709, BT601, BT2020)}
"""Those that users may name."""
NUMBERS = {1: BT709, 4: _FCC, 5: BT601, 6: BT601, 7: _SMPTE240M, 9: BT2020}
"""By H.273's MatrixCoefficients, which are FFmpeg's AVCOL_SPC."""
_UNSPECIFIED = 2
AUTO = "auto"


def matrix_of(
    number: int, size: tuple[int, int], name: str | None = None
) -> tuple[Matrix, str | None]:
    """Return the matrix of a film, and a sentence where it was guessed.

    Parameters
    ----------
    number : int
        MatrixCoefficients of H.273, as the film states it.
    size : (int, int)
        Width and height of the film's luma.
    name : str, optional
        Key of `NAMED`, what the user knows; None or "auto": what the film states, or a guess.

    Raises
    ------
    InputError
        A matrix that is none of luma and two colour differences.
    """
    if name not in (None, AUTO):
        return NAMED[name], None
    if number == _UNSPECIFIED:
        width, height = size
        guess = guessed(width, height)
        return guess, (
            f"the film states no colour matrix: for the LUT {guess.name} is assumed, by its size "
            f"of {width}×{height}; `lut_matrix` states it"
        )
    found = NUMBERS.get(number)
    if found is None:
        raise InputError(
            f"the film's colour matrix is number {number} of ITU-T H.273; a LUT expects one of "
            f"{', '.join(NAMED)}",
            parameter="lut",
            advice="choose the nearest one by `lut_matrix`",
        )
    return found, None


def guessed(width: int, height: int) -> Matrix:
    """Return the matrix that a film of a size is taken to have where it states none."""
    return BT709 if width >= _HD_COLUMNS or height > _SD_ROWS else BT601


def to_rgb(matrix: Matrix, format: Format) -> Float64:
    """Return (3, 4): red, green and blue (white 1) of the code values (Y, Cb, Cr, 1)."""
    luma, chroma = _scales(format)
    green = 1 - matrix.red - matrix.blue
    red, blue = 2 * (1 - matrix.red), 2 * (1 - matrix.blue)
    linear = np.array(
        [
            [1, 0, red],
            [1, -blue * matrix.blue / green, -red * matrix.red / green],
            [1, blue, 0],
        ]
    )
    linear = linear / [luma, chroma, chroma]
    return np.column_stack([linear, -linear @ _zeros(format)])


def from_rgb(matrix: Matrix, format: Format) -> Float64:
    """Return (3, 4): code values Y, Cb and Cr, not rounded, of (red, green, blue, 1)."""
    luma, chroma = _scales(format)
    weights = np.array([matrix.red, 1 - matrix.red - matrix.blue, matrix.blue])
    blue = ([0, 0, 1] - weights) / (2 * (1 - matrix.blue))
    red = ([1, 0, 0] - weights) / (2 * (1 - matrix.red))
    return np.column_stack(
        [np.stack([luma * weights, chroma * blue, chroma * red]), _zeros(format)]
    )


def _scales(format: Format) -> tuple[float, float]:
    """Return code values from black to white, and from the least chroma to the greatest."""
    black, white = levels(format)
    return white - black, white - black if format.full_range else 224.0 * 2 ** (format.bits - 8)


def _zeros(format: Format) -> Float64:
    """Return the code values of black."""
    neutral = 1 << (format.bits - 1)
    return np.array([levels(format)[0], neutral, neutral])
