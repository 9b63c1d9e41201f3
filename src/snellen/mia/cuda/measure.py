"""How far what came is from its model, on a GPU.

Our own transforms pair rows of one picture; cuFFT may pair two pictures of a batch, and round the
darker one as the brighter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.fft import irfft2, rfft2
from snellen.mia.definition import EPS, Definition


class Measure:
    """The fit of a batch; see `Restored.fit`."""

    def __init__(self, definition: Definition) -> None:
        self._poisson = definition.noise == "poisson"

    def __call__(self, y: Any, f: Any, h: Any) -> npt.NDArray[np.float64]:
        """Return (B,) for y and h (B, M, H, W), f (B, H, W), on the current GPU.

        H and W are 32, 64, 128 or 256.
        """
        import cupy

        g = irfft2(rfft2(f)[:, None] * rfft2(h))
        observed = y >= 0
        if self._poisson:
            g = cupy.maximum(g, np.float32(EPS))
            terms = y * cupy.log(cupy.maximum(y, np.float32(1e-30)) / g) - y + g
        else:
            terms = (y - g) ** 2
        terms = cupy.where(observed, terms, 0).sum((1, 2, 3), dtype=np.float64)
        fit: npt.NDArray[np.float64] = (terms / cupy.maximum(observed.sum((1, 2, 3)), 1)).get()
        return fit
