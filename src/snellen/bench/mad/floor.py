"""What each stage of the GPU arm must move at least, for a pair: bytes to and from memory."""

from __future__ import annotations

from snellen.bench.mad.cases import Case
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.definition import grid

OPERATIONS = 20
"""Of a statistics kernel for each sample of a subband: the magnitude 4, its tile's moments 8, and
its part of the five merges of each tile, 16 samples, about 8; a multiply-add is two."""


def needs(case: Case, sample: int = 1, real: int = 4) -> dict[str, int]:
    """Return bytes for samples and real numbers of so many. Arrays count once in each direction.

    A transform must pass at least once; cuFFT passes twice or more where a plane does not fit on
    chip.
    """
    n = case.width * case.height
    half = case.height * (case.width // 2 + 1)
    rows, columns = grid(case.height, case.width)
    blocks = rows * columns
    return {
        "lightness": 3 * sample * n + 2 * real * n,
        "FFT of lightness": 2 * real * (n + 2 * half),
        "csf": 2 * real * 4 * half,
        "inverse FFT of lightness": 2 * real * (2 * half + n),
        "block statistics": real * (n + 2 * blocks),
        "visibility": real * (n + 3 * blocks),
        "seen": 2 * sample * n + real * blocks,
        "grey": 2 * (sample + real) * n,
        "FFT": 2 * real * (n + 2 * half),
        "bank": 2 * real * (2 * half + 2 * BANDS * n),
        "inverse FFTs": 2 * real * BANDS * 4 * n,
        "statistics": real * BANDS * (2 * n + 3 * blocks),
        "difference": real * BANDS * (2 * n + 4 * blocks),
        "looks": real * (BANDS + 1) * blocks,
    }


def operations(pixels: int) -> int:
    """Return those of one statistics kernel over all subbands."""
    return OPERATIONS * BANDS * pixels
