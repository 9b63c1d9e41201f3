"""Appearance, step 1, on the GPU: log-Gabor filters, computed while they multiply a spectrum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import literal, row, types
from snellen.mad.loggabor import ORIENTATIONS, SIGMA_ON_F, THETA_SIGMA, WAVELENGTHS

BLOCK = (32, 8)  # threads (x, y) of a block
BANDS = len(WAVELENGTHS) * ORIENTATIONS  # filters, ordered by scale, then by orientation


class Bank:
    """The filters for planes of one size."""

    def __init__(self, height: int, width: int, dtype: str):
        self._kernel = kernel(dtype)
        self._size = (width, height)
        self._scale = np.dtype(dtype).type(1 / (width * height))
        self._grid = (-(-width // BLOCK[0]), -(-height // BLOCK[1]))

    def __call__(self, spectrum: Any, first: int, out: Any) -> None:
        """Compute the spectra of `count` subbands from number `first` on.

        Parameters
        ----------
        spectrum : (H, W // 2 + 1) complex
            Half spectrum of a real plane.
        first : int
            Number of the first filter, less than BANDS.
        out : (count, H, W) complex
            Output: spectra divided by H·W, as cuFFT's inverse transform does not scale.
        """
        self._kernel(self._grid, BLOCK, spectrum, *self._size, self._scale, first, len(out), out)


def kernel(dtype: str) -> Kernel:
    """Return the kernel, not yet compiled."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "bank", scales=len(WAVELENGTHS),
        orientations=ORIENTATIONS,
        log_half_wavelengths=row(np.log(wavelength / 2) for wavelength in WAVELENGTHS),
        log_sigma=literal(np.log(SIGMA_ON_F)), theta_sigma=literal(THETA_SIGMA), **types(dtype),
    )  # fmt: skip
