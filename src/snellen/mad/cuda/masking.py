"""Detection, step 3, on the GPU: statistics of filtered blocks, and where an error is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel
from snellen.mad.csf import FLAT
from snellen.mad.cuda.precision import literal, types
from snellen.mad.cuda.strips import THREADS, Strips
from snellen.mad.masking import GATE, PROBE, THRESHOLD


class Masking:
    """The stage for planes of one size and `dtype`, "float32" or "float64"."""

    def __init__(self, height: int, width: int, dtype: str):
        self._describe, self._visibility = kernels(dtype)
        self._height, self._width = height, width
        self._strips = Strips(height, width)

    def describe(self, filtered: Any, level: Any, mean: Any, deviation: Any) -> None:
        """Fill mean and deviation (rows, columns): of each block, and of its top left 8 × 8.

        Parameters
        ----------
        filtered : (H, W) of `dtype`
            The reference's lightness through the CSF.
        level : (2,) of `dtype`
            What was taken off: its second number.
        """
        s = self._strips
        self._describe(s.grid, THREADS, filtered, self._width, *s.extent, level, mean, deviation)

    def visibility(self, error: Any, mean: Any, deviation: Any, mask: Any) -> None:
        """Fill the mask (rows, columns): by how much the error's contrast is above what hides it.

        Parameters
        ----------
        error : (H, W) of `dtype`
            The difference of lightness through the CSF.
        mean, deviation : (rows, columns) of `dtype`
            As `describe` gives them.
        """
        s = self._strips
        self._visibility(
            s.grid, THREADS, error, self._width, self._height, *s.extent, mean, deviation, mask
        )


def kernels(dtype: str) -> tuple[Kernel, Kernel]:
    """Return the kernels, not compiled yet."""
    file = Path(__file__).with_suffix(".cu")
    constants: dict[str, Any] = {
        "threads": THREADS,
        "gate": literal(GATE),
        "threshold": literal(THRESHOLD),
        "probe": PROBE,
        "flat": literal(FLAT),
        **types(dtype),
    }
    return Kernel(file, "describe", **constants), Kernel(file, "visibility", **constants)
