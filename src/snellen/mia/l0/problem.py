"""One level of the pyramid: pictures of one blur, and an iteration of its PSF."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.pool import Pool
from snellen.frames.arrays import library
from snellen.mia.l0.gradients import differences, laplacian, strongest
from snellen.mia.l0.latent import latent
from snellen.mia.l0.leastsquares import conjugate_gradients, correlations, pruned
from snellen.mia.l0.transform import Transform
from snellen.mia.psf import to_period

Float64 = npt.NDArray[np.float64]


class Problem:
    """Blurred pictures of one shape with the same PSF, and the spectra that every iteration needs.

    They are (H, W) float64 and taken as periodic, so opposite edges should match. `pools` are
    threads of the CPU for the pictures, and others for loops within each; None: the caller's.
    """

    def __init__(self, pictures: list[Any], pools: tuple[Pool | None, Pool | None] = (None, None)):
        self.shape = pictures[0].shape
        share = threads.available() // len(pictures)
        self._pool, within = pools
        self._parts = [_Part(y, Transform(y.shape, y, within, share)) for y in pictures]

    def refined(self, psf: Float64, weight: float) -> Float64:
        """Return the PSF (K, K) after an iteration with λ = weight, or the old one if it is 0."""
        if self._pool is None or len(self._parts) == 1:
            sums = [part.correlations(psf, weight) for part in self._parts]
        else:
            sums = list(self._pool.map(lambda part: part.correlations(psf, weight), self._parts))
        own, other = (np.sum(every, 0) for every in zip(*sums, strict=True))
        found = pruned(conjugate_gradients(own, other))
        return found if found.any() else psf


class _Part:
    """One picture (H, W)."""

    def __init__(self, y: Any, transform: Transform):
        self._y, self._transform = y, transform
        self._observed = transform.forward(y)
        self._curvature = laplacian(y.shape, y)
        across, down = (transform.forward(plane) for plane in differences(y))
        self._blurred = across, down

    def correlations(self, psf: Float64, weight: float) -> tuple[Float64, Float64]:
        """Return those of the sharp gradients that the PSF so far leads to, in main memory."""
        h = to_period(library(self._y).asarray(psf), self._y.shape)
        blur = self._transform.forward(h)
        sharp = latent(self._y, self._observed, blur, weight, self._curvature, self._transform)
        return correlations(strongest(sharp), self._blurred, len(psf), self._transform)
