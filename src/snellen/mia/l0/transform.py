"""Real Fourier transforms of planes of one size, in float64, by SciPy or cuFFT.

NumPy arrays are transformed by SciPy, CuPy arrays by cuFFT on their GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.cpu import transforms as fft
from snellen.cpu.pool import Pool
from snellen.fft.plan import Plan
from snellen.frames.arrays import library
from snellen.mia.cpu import Strips


class Transform:
    """Transforms between planes (H, W) and half spectra (H, W // 2 + 1), of any size.

    For a NumPy array `like` on the CPU, for one of CuPy on the current GPU. `pool` has threads for
    loops on the CPU (None: the caller's), `threads` of the CPU at most.

    Attributes
    ----------
    strips : Strips
        Divides loops among the threads of the CPU.
    plane : (H, W) float64
        Scratch of whoever transforms, on the CPU.
    """

    def __init__(
        self, period: tuple[int, int], like: Any, pool: Pool | None = None, threads: int = 1
    ):
        self.period = period
        self._xp = library(like)
        self._plans: tuple[Plan, ...] = ()
        if self._xp is not np:
            self._plans = tuple(Plan(kind, *period, "float64") for kind in ("r2c", "c2r"))
            return
        self.strips = Strips(pool, period[0], period[0] * period[1], threads)
        self.plane = np.empty(period)

    def forward(self, plane: Any) -> Any:
        """Return the half spectrum, complex128, of a float64 plane (H, W)."""
        if not self._plans:
            return fft.rfft2(plane, workers=self.strips.workers)
        height, width = self.period
        spectrum = self._xp.empty((height, width // 2 + 1), np.complex128)
        self._plans[0](self._xp.ascontiguousarray(plane), spectrum)
        return spectrum

    def inverse(self, spectrum: Any) -> Any:
        """Return the plane (H, W), float64, of a half spectrum, which is overwritten."""
        if not self._plans:
            return fft.irfft2(spectrum, self.period, workers=self.strips.workers, overwrite_x=True)
        plane = self._xp.empty(self.period, np.float64)
        self._plans[1](self._xp.ascontiguousarray(spectrum), plane)
        plane /= plane.size
        return plane
