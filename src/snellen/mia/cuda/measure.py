"""The data fidelity of a batch on a GPU, for periods with sides of 32, 64, 128 and 256.

It uses the transforms of this package, which pair rows of one picture: cuFFT may pair two pictures
of a batch and round the darker one as the brighter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.fft import irfft2, rfft2
from snellen.fft.small import begin
from snellen.gpu.kernel import Kernel
from snellen.mia.definition import EPS, Definition

THREADS = 512
GRID_ROWS = 65535  # rows of a grid, at most; `multiply_spectra` loops over more planes than that

NAMES = ("multiply_spectra", "data_fidelity")


class Measure:
    """The data fidelity: mean I-divergence, or mean squared error; see `Restored.fit`.

    Parameters
    ----------
    definition : Definition
    period : (H, W)
    batch, frames : int
        B pictures of M frames each.
    """

    def __init__(
        self, definition: Definition, period: tuple[int, int], batch: int, frames: int
    ) -> None:
        planes = batch * frames
        for kind, count in {("rfft2", batch), ("rfft2", planes), ("irfft2", planes)}:
            begin(kind, *period, count)  # their kernels compile meanwhile
        self._multiply, self._fidelity = kernels(definition.noise)

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

        batch, frames = y.shape[:2]
        own, spectra = rfft2(f), rfft2(h)
        planes, size = batch * frames, spectra.shape[2] * spectra.shape[3]
        grid = -(-size // THREADS), min(planes, GRID_ROWS)
        self._multiply(grid, THREADS, own, spectra, planes, frames, size)
        del own  # its memory may serve the planes
        g, out = irfft2(spectra), cupy.empty(batch, np.float64)
        self._fidelity(batch, THREADS, y, g, y[0].size, out)
        return out


def kernels(noise: str) -> list[Kernel]:
    """Return the kernels in the order of NAMES, not compiled yet."""
    file, poisson = Path(__file__).with_suffix(".cu"), noise == "poisson"
    return [
        Kernel(file, name, threads=THREADS, poisson=poisson, epsilon=float(EPS)) for name in NAMES
    ]
