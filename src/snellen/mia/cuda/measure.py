"""How far what came is from its model, on a GPU: real transforms of the whole batch by cuFFT."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.mia.definition import EPS, Definition


class Measure:
    """The fit of a batch; see `Restored.fit`."""

    def __init__(
        self, definition: Definition, period: tuple[int, int], frames: int, batch: int
    ) -> None:
        self._poisson, self._period = definition.noise == "poisson", period

    def __call__(self, y: Any, f: Any, h: Any) -> npt.NDArray[np.float64]:
        """Return (B,) for y and h (B, M, H, W), f (B, H, W), on the current GPU."""
        import cupy

        spectrum = cupy.fft.rfft2(f)[:, None] * cupy.fft.rfft2(h)
        g = cupy.fft.irfft2(spectrum, self._period)
        observed = y >= 0
        if self._poisson:
            g = cupy.maximum(g, np.float32(EPS))
            terms = y * cupy.log(cupy.maximum(y, np.float32(1e-30)) / g) - y + g
        else:
            terms = (y - g) ** 2
        terms = cupy.where(observed, terms, 0).sum((1, 2, 3), dtype=np.float64)
        fit: npt.NDArray[np.float64] = (terms / cupy.maximum(observed.sum((1, 2, 3)), 1)).get()
        return fit
