"""Detection, step 2, on the GPU: the contrast sensitivity function, computed as it is applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.gpu.kernel import Kernel
from snellen.mad.csf import BASE, FLAT, FLAT_BELOW, GAIN, PER_DEGREE, POWER, SLOPE, W
from snellen.mad.cuda.precision import literal, types

BLOCK = (32, 8)  # threads (x, y) of a block


class Csf:
    """The filter for spectra of real planes of one size."""

    def __init__(self, height: int, width: int, dtype: str):
        self._kernel = kernel(dtype)
        self._size = (width, height)
        self._scale = np.dtype(dtype).type(1 / (width * height))
        self._grid = (-(-(width // 2 + 1) // BLOCK[0]), -(-height // BLOCK[1]))

    def __call__(self, spectrum: Any) -> None:
        """Filter a half spectrum (H, W // 2 + 1) in place, and divide it by H·W.

        cuFFT's inverse transform does not scale.
        """
        self._kernel(self._grid, BLOCK, spectrum, *self._size, self._scale)


def kernel(dtype: str) -> Kernel:
    """Return the kernel, not yet compiled."""
    numbers = {"w": W, "flat": FLAT, "flat_below": FLAT_BELOW, "gain": GAIN, "base": BASE,
               "slope": SLOPE, "power": POWER}  # fmt: skip
    constants: dict[str, Any] = {name: literal(value) for name, value in numbers.items()}
    return Kernel(
        Path(__file__).with_suffix(".cu"), "csf", per_degree=PER_DEGREE, **constants, **types(dtype)
    )
