"""Appearance, steps 2 and 3, on the GPU: statistics of subbands, and their differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import literal, row, types
from snellen.mad.cuda.strips import THREADS, Strips
from snellen.mad.difference import SKEW, WEIGHTS
from snellen.mad.loggabor import ORIENTATIONS


class Statistics:
    """The stage for `count` subbands of one size at a time."""

    def __init__(self, height: int, width: int, dtype: str, count: int):
        self._describe, self._compare = kernels(width, dtype)
        self._height, self._width = height, width
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
        self._describe(s.grid, THREADS, bands, self._width, self._height, *s.extent, out)

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
            s.grid, THREADS, bands, self._width, self._height, *s.extent, reference, first, out
        )


def kernels(width: int, dtype: str) -> tuple[Kernel, Kernel]:
    """Return the kernels describe and compare for planes of this width, not yet compiled."""
    file = Path(__file__).with_suffix(".cu")
    constants: dict[str, Any] = {
        "threads": THREADS,
        "even": width % 2 == 0,
        "scales": len(WEIGHTS),
        "orientations": ORIENTATIONS,
        "weights": row(WEIGHTS),
        "twice": literal(SKEW),
        **types(dtype),
    }
    return Kernel(file, "describe", **constants), Kernel(file, "compare", **constants)
