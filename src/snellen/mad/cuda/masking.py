"""Detection, step 3, on the GPU: statistics of filtered blocks, and the visibility of the error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel
from snellen.mad.csf import FLAT
from snellen.mad.cuda.precision import literal, types
from snellen.mad.cuda.strips import THREADS, Strips
from snellen.mad.masking import GATE, PROBE, THRESHOLD


class Masking:
    """The stage for planes of one size and precision, "float32" or "float64"."""

    def __init__(self, height: int, width: int, dtype: str):
        self._describe, self._visibility = kernels(dtype)
        self._height, self._width = height, width
        self._strips = Strips(height, width)

    def describe(self, filtered: Any, level: Any, mean: Any, deviation: Any) -> None:
        """Compute the mean of each block, and the standard deviation of its top left 8 × 8 pixels.

        Parameters
        ----------
        filtered : (H, W) of `dtype`
            Lightness of the reference minus the level, filtered by the CSF.
        level : (2,) of `dtype`
            Sample value and lightness of the level, see `Lightness.grey`.
        mean, deviation : (rows, columns) of `dtype`
            Output.
        """
        s = self._strips
        self._describe(s.grid, THREADS, filtered, self._width, *s.extent, level, mean, deviation)

    def visibility(self, error: Any, mean: Any, deviation: Any, mask: Any) -> None:
        """Compute by how much ln contrast of the error exceeds the masking threshold.

        Parameters
        ----------
        error : (H, W) of `dtype`
            Difference of lightness, filtered by the CSF.
        mean, deviation : (rows, columns) of `dtype`
            Statistics of the reference, as `describe` computes them.
        mask : (rows, columns) of `dtype`
            Output: the excess, 0 where the error is not visible.
        """
        s = self._strips
        self._visibility(
            s.grid, THREADS, error, self._width, self._height, *s.extent, mean, deviation, mask
        )


def kernels(dtype: str) -> tuple[Kernel, Kernel]:
    """Return the kernels describe and visibility, not yet compiled."""
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
