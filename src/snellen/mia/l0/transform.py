"""Real Fourier transforms of planes on one period, in float64: SciPy's, or cuFFT's.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft

from snellen.cpu import threads
from snellen.fft.plan import Plan
from snellen.frames.arrays import library

WORKER = 1 << 17
"""Samples for each thread of a transform on the CPU: with fewer, a thread costs more than it does
(measured with MIA's own transforms)."""


class Transform:
    """Goes to half spectra (H, W // 2 + 1) and back.

    Parameters
    ----------
    period : (H, W)
        Any.
    like : array
        Where to compute: that of NumPy's, or of CuPy's on the current GPU.
    """

    def __init__(self, period: tuple[int, int], like: Any):
        self.period = period
        self._xp = library(like)
        self._plans: tuple[Plan, ...] = ()
        if self._xp is not np:
            self._plans = tuple(Plan(kind, *period, "float64") for kind in ("r2c", "c2r"))
        self._workers = max(1, min(threads.available(), period[0] * period[1] // WORKER))

    def forward(self, plane: Any) -> Any:
        """Return the spectrum of a plane (H, W)."""
        if not self._plans:
            return fft.rfft2(plane, workers=self._workers)
        height, width = self.period
        spectrum = self._xp.empty((height, width // 2 + 1), np.complex128)
        self._plans[0](self._xp.ascontiguousarray(plane), spectrum)
        return spectrum

    def inverse(self, spectrum: Any) -> Any:
        """Return the plane (H, W) of a spectrum, which is lost."""
        if not self._plans:
            return fft.irfft2(spectrum, self.period, workers=self._workers, overwrite_x=True)
        plane = self._xp.empty(self.period, np.float64)
        self._plans[1](self._xp.ascontiguousarray(spectrum), plane)
        plane /= plane.size
        return plane
