"""Detection, step 2, on the GPU: the contrast sensitivity function, made as it is applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.kernel import Kernel
from snellen.mad.csf import FLAT, FLAT_BELOW, PER_DEGREE, W

BLOCK = (32, 8)


class Csf:
    """The filter for spectra of real planes of one size."""

    def __init__(self, height: int, width: int):
        self._kernel = kernel()
        self._size = (width, height)
        self._grid = (-(-(width // 2 + 1) // BLOCK[0]), -(-height // BLOCK[1]))

    def __call__(self, spectrum: Any) -> None:
        """Filter (H, W/2 + 1) complex64 in place, and divide by H·W: the way back is not scaled."""
        width, height = self._size
        self._kernel(self._grid, BLOCK, spectrum, width, height, 1 / (width * height))


def kernel() -> Kernel:
    """Return the kernel, not compiled yet."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "csf", w=W, per_degree=float(PER_DEGREE), flat=FLAT,
        flat_below=FLAT_BELOW,
    )  # fmt: skip
