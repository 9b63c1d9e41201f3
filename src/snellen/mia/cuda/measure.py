"""The data fidelity of a batch on a GPU, for periods with sides of 32, 64, 128 and 256.

It uses the transforms of this package, which pair rows of one picture: cuFFT may pair two pictures
of a batch and round the darker one as the brighter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.fft.small import transform
from snellen.gpu.device import over
from snellen.gpu.kernel import Kernel
from snellen.mia.definition import EPS, Definition

THREADS = 512

NAMES = ("multiply_spectra", "data_fidelity")


class Measure:
    """The data fidelity: mean I-divergence, or mean squared error; see `Restored.fit`.

    Parameters
    ----------
    definition : Definition
    period : (H, W)
    """

    def __init__(self, definition: Definition, period: tuple[int, int]) -> None:
        self._width = period[1]
        # Those of small.cu, whose kernels compile meanwhile: they run beside the iterations of
        # other pictures, where clusters would wait for their end; and a picture's fit does not
        # depend on its batch.
        self._forward, self._back = (transform(kind, *period) for kind in ("rfft2", "irfft2"))
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
        own, spectra = self._spectra(f), self._spectra(h)
        planes, size = batch * frames, spectra.shape[2] * spectra.shape[3]
        self._multiply(over(size, planes, THREADS), THREADS, own, spectra, planes, frames, size)
        del own  # its memory may serve the planes
        g, out = cupy.empty(h.shape, np.float32), cupy.empty(batch, np.float64)
        self._back(spectra, g)
        self._fidelity(batch, THREADS, y, g, y[0].size, out)
        return out

    def _spectra(self, planes: Any) -> Any:
        """Return half spectra (..., H, W / 2 + 1)."""
        import cupy

        planes = cupy.ascontiguousarray(planes)
        out = cupy.empty((*planes.shape[:-1], self._width // 2 + 1), np.complex64)
        self._forward(planes, out)
        return out


def kernels(noise: str) -> list[Kernel]:
    """Return the kernels in the order of NAMES, not compiled yet."""
    file, poisson = Path(__file__).with_suffix(".cu"), noise == "poisson"
    return [
        Kernel(file, name, threads=THREADS, poisson=poisson, epsilon=float(EPS)) for name in NAMES
    ]
