"""The data fidelity of a batch on a GPU, for periods with sides of 32, 64, 128 and 256.

It uses the transforms of this package, which pair rows of one picture: cuFFT may pair two pictures
of a batch and round the darker one as the brighter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.fft import irfft2, rfft2
from snellen.mia.definition import EPS, Definition


class Measure:
    """The data fidelity: mean I-divergence, or mean squared error; see `Restored.fit`."""

    def __init__(self, definition: Definition) -> None:
        self._poisson = definition.noise == "poisson"

    def __call__(self, y: Any, f: Any, h: Any) -> Any:
        """Return the data fidelity of each picture.

        Parameters
        ----------
        y, h : (B, M, H, W) CuPy arrays
            Observed frames, negative where nothing was observed, and PSFs.
        f : (B, H, W)
            Estimates.

        Returns
        -------
        (B,) float64
            A CuPy array. The work is queued on CuPy's current stream and nothing waits for it.
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
        return terms / cupy.maximum(observed.sum((1, 2, 3)), 1)
