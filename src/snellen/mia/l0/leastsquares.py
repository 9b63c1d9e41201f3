"""The PSF that turns the gradients of a sharp picture into those of a blurred one.

Cho & Lee 2009: min Σ ‖∂f ⊛ h − ∂y‖² + ridge ‖h‖² over both directions, by conjugate gradients. Its
normal equations need of the pictures only correlations over lags within the support. These are all
that leaves the GPU, a few dozen kilobytes; they are solved on the CPU, where the PSF is pruned too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from snellen.frames.arrays import library
from snellen.mia.l0.transform import Transform
from snellen.mia.psf import to_period

RIDGE = 2.0  # with gradients of pictures of 0 … 1; Pan et al. 2014
STEPS = 15  # of conjugate gradients; our experiments with Levin's images

Pair = tuple[Any, Any]
"""Of what goes across and what goes down."""
Float64 = npt.NDArray[np.float64]


def fitted(sharp: Pair, blurred: Pair, side: int, transform: Transform) -> Float64:
    """Return the PSF (side, side), not pruned: negative values, any sum.

    Parameters
    ----------
    sharp : pair of (H, W) float64
        Gradients of the sharp picture.
    blurred : pair of (H, W // 2 + 1) complex128
        Spectra of the blurred one's.
    side : int
        Odd.
    transform : Transform
        Of the period.
    """
    xp = library(sharp[0])
    power, cross = 0.0, 0.0
    for plane, seen in zip(sharp, blurred, strict=True):
        spectrum = transform.forward(plane)
        power = power + (spectrum * spectrum.conj())
        cross = cross + xp.conj(spectrum) * seen
    own = _lags(transform.inverse(power), 2 * side - 1)
    other = _lags(transform.inverse(cross), side)
    return solved(own, other)


def solved(own: Float64, other: Float64) -> Float64:
    """Return h of own ⊛ h + RIDGE · h = other, after STEPS from 0.

    Parameters
    ----------
    own : (2 K − 1, 2 K − 1)
        Correlation of the sharp gradients with themselves.
    other : (K, K)
        With the blurred ones.
    """
    side = len(other)
    size = fft.next_fast_len(len(own), real=True)  # what wraps around falls outside the support
    spectrum = fft.rfft2(to_period(own, (size, size)))

    def normal(h: Float64) -> Float64:
        product: Float64 = fft.irfft2(spectrum * fft.rfft2(h, (size, size)), (size, size))
        return product[:side, :side] + RIDGE * h

    h = np.zeros_like(other)
    rest, way, length = other, other, np.sum(other**2)
    for _ in range(STEPS):
        if not length:
            break
        turned = normal(way)
        step = length / np.sum(way * turned)
        h = h + step * way
        rest = rest - step * turned
        before, length = length, np.sum(rest**2)
        way = rest + length / before * way
    return h


def _lags(correlation: Any, side: int) -> Float64:
    """Return the lags −(side // 2) … side // 2 of a circular correlation, in main memory."""
    xp = library(correlation)
    reach = side // 2
    rows, columns = (xp.asarray(np.arange(-reach, reach + 1) % size) for size in correlation.shape)
    found = correlation[rows[:, None], columns[None, :]]
    lags: Float64 = found if xp is np else found.get()
    return lags
