"""Appearance, steps 2 and 3, on the GPU: statistics of subbands, and how they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import literal, row, types
from snellen.mad.cuda.strips import THREADS, Strips
from snellen.mad.difference import SKEW, WEIGHTS
from snellen.mad.loggabor import ORIENTATIONS


class Statistics:
    """The stage for so many subbands of one size at a time."""

    def __init__(self, height: int, width: int, dtype: str, count: int):
        self._describe, self._compare = kernels(width, dtype)
        self._height, self._width = height, width
        self._strips = Strips(height, width, count)

    def describe(self, bands: Any, out: Any) -> None:
        """Keep the reference's.

        Parameters
        ----------
        bands : (count, H, W) complex
            Responses.
        out : (count, 3, rows, columns) of `dtype`
            Sample standard deviation, skew and plain kurtosis of the magnitude in each block.
        """
        s = self._strips
        self._describe(s.grid, THREADS, bands, self._width, self._height, *s.extent, out)

    def compare(self, bands: Any, kept: Any, first: int, out: Any) -> None:
        """Compare those of the distorted picture, for filters from `first` on.

        Parameters
        ----------
        bands : (count, H, W) complex
        kept : (count, 3, rows, columns) of `dtype`
            As `describe` gives them.
        first : int
            Number of the filter, which decides the weight.
        out : (count, rows, columns) of `dtype`
            weight · (|Δ deviation| + 2 |Δ skew| + |Δ kurtosis|)
        """
        s = self._strips
        self._compare(
            s.grid, THREADS, bands, self._width, self._height, *s.extent, kept, first, out
        )


def kernels(width: int, dtype: str) -> tuple[Kernel, Kernel]:
    """Return the kernels for planes that wide, not compiled yet."""
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
