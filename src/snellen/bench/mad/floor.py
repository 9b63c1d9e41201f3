"""What each stage of the GPU arm must move at least, for a pair: bytes to and from memory."""

from __future__ import annotations

from snellen.bench.mad.cases import Case
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.definition import grid

OPERATIONS = 20
"""Of the statistics kernel for each sample of a subband: the magnitude 4, its tile's moments 8, and
its part of the five merges of each tile, 16 samples, about 8; a multiply-add is two."""


def needs(case: Case, sample: int = 1) -> dict[str, int]:
    """Return bytes for samples of so many bytes. Every array counts once in each direction.

    Real numbers have 4 bytes, complex ones 8. A transform must pass at least once; cuFFT passes
    twice or more where a plane does not fit on chip.
    """
    n = case.width * case.height
    half = case.height * (case.width // 2 + 1)
    rows, columns = grid(case.height, case.width)
    blocks = rows * columns
    return {
        "lightness": 3 * sample * n + 2 * 4 * n,
        "FFT of lightness": 2 * (4 * n + 8 * half),
        "csf": 2 * 16 * half,
        "inverse FFT of lightness": 2 * (8 * half + 4 * n),
        "block statistics": 4 * n + 8 * blocks,
        "visibility": 4 * n + 12 * blocks,
        "seen": 2 * sample * n + 4 * blocks,
        "grey": 2 * (sample * n + 4 * n),
        "FFT": 2 * (4 * n + 8 * half),
        "bank": 2 * (8 * half + BANDS * 8 * n),
        "inverse FFTs": 2 * BANDS * 16 * n,
        "statistics": BANDS * (8 * n + 12 * blocks),
        "difference": BANDS * (8 * n + 16 * blocks),
        "looks": 4 * (BANDS + 1) * blocks,
    }
