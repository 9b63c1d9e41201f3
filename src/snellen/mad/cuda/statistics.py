"""Appearance, steps 2 and 3, on the GPU: statistics of subbands, and their differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import literal, row, types
from snellen.mad.cuda.strips import THREADS, Strips
from snellen.mad.definition import STEP
from snellen.mad.loggabor import ORIENTATIONS
from snellen.mad.statistics import SKEW, WEIGHTS


class Statistics:
    """The stage for `count` subbands of one size at a time.

    With `tiles` it gets the moments of their tiles, (count, H // 4, W // 4, 4) as
    `subbands.Subbands` returns them, in place of the responses of the filters.
    """

    def __init__(self, height: int, width: int, dtype: str, count: int, tiles: bool = False):
        self._describe, self._compare = kernels(width, dtype, tiles)
        side = STEP if tiles else 1
        self._down, self._across = height // side, width // side
        self._strips = Strips(height, width, count)

    def describe(self, bands: Any, out: Any) -> None:
        """Compute the statistics of the reference's subbands.

        Parameters
        ----------
        bands : (count, H, W) complex
            Responses of the filters.
        out : (count, 3, rows, columns) of `dtype`
            Output: sample standard deviation, skewness and kurtosis (3 for a Gaussian) of the
            magnitude in each block.
        """
        s = self._strips
        self._describe(s.grid, THREADS, bands, self._across, self._down, *s.extent, out)

    def compare(self, bands: Any, reference: Any, first: int, out: Any) -> None:
        """Compare the statistics of the distorted picture's subbands with the reference's.

        Parameters
        ----------
        bands : (count, H, W) complex
            Responses of the filters from number `first` on.
        reference : (count, 3, rows, columns) of `dtype`
            Statistics of the reference, as `describe` computes them.
        first : int
            Number of the first filter; it determines the weights.
        out : (count, rows, columns) of `dtype`
            Output: weight · (|Δ deviation| + 2 |Δ skewness| + |Δ kurtosis|).
        """
        s = self._strips
        self._compare(
            s.grid, THREADS, bands, self._across, self._down, *s.extent, reference, first, out
        )


def kernels(width: int, dtype: str, tiles: bool = False) -> tuple[Kernel, Kernel]:
    """Return the kernels describe and compare for planes of this width, not yet compiled.

    With `tiles` they are given moments of tiles.
    """
    file = Path(__file__).with_suffix(".cu")
    constants: dict[str, Any] = {
        "threads": THREADS,
        "given_tiles": tiles,
        "even": not tiles and width % 2 == 0,
        "scales": len(WEIGHTS),
        "orientations": ORIENTATIONS,
        "weights": row(WEIGHTS),
        "twice": literal(SKEW),
        **types(dtype),
    }
    return Kernel(file, "describe", **constants), Kernel(file, "compare", **constants)
