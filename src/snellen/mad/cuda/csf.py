"""Detection, step 2, on the GPU: the contrast sensitivity function, made as it is applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.kernel import Kernel
from snellen.mad.csf import FLAT, FLAT_BELOW, PER_DEGREE, W
from snellen.mad.cuda.precision import literal, types

BLOCK = (32, 8)


class Csf:
    """The filter for spectra of real planes of one size."""

    def __init__(self, height: int, width: int, dtype: str):
        self._kernel = kernel(dtype)
        self._size = (width, height)
        self._scale = np.dtype(dtype).type(1 / (width * height))
        self._grid = (-(-(width // 2 + 1) // BLOCK[0]), -(-height // BLOCK[1]))

    def __call__(self, spectrum: Any) -> None:
        """Filter (H, W/2 + 1) in place, and divide by H·W: the way back is not scaled."""
        self._kernel(self._grid, BLOCK, spectrum, *self._size, self._scale)


def kernel(dtype: str) -> Kernel:
    """Return the kernel, not compiled yet."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "csf", w=literal(W), per_degree=PER_DEGREE,
        flat=literal(FLAT), flat_below=literal(FLAT_BELOW), **types(dtype),
    )  # fmt: skip
