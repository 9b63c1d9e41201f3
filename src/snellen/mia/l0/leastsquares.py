"""The PSF that best maps the gradients of a sharp picture to those of the blurred picture.

Cho & Lee 2009: min Σ ‖∂f ⊛ h − ∂y‖² + ridge ‖h‖² over h, summed over both directions, by conjugate
gradients. The normal equations depend on the pictures only through correlations at lags within the
support of the PSF. Only these few dozen kilobytes leave the GPU. The CPU solves the equations and
prunes the PSF.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from snellen.cpu import transforms as fft
from snellen.frames.arrays import library
from snellen.mia.l0.transform import Transform
from snellen.mia.psf import to_period

RIDGE = 2.0  # weight of ‖h‖² for pictures in 0 … 1; Pan et al. 2014
STEPS = 15  # conjugate gradient steps; our experiments with Levin's images
FAINT = 0.05  # values below this share of the greatest are pruned; ibid.
SMALL = 0.1  # connected components below this share of the sum are pruned; ibid.
NEIGHBOURS = np.ones((3, 3))  # 8-connectivity, since the path of a shaking hand has diagonals

Pair = tuple[Any, Any]
"""Two planes or spectra: of horizontal and of vertical gradients."""
Float64 = npt.NDArray[np.float64]


def correlations(
    sharp: Pair, blurred: Pair, side: int, transform: Transform
) -> tuple[Float64, Float64]:
    """Return what the normal equations of a PSF need, in main memory; pictures' are added.

    That is the autocorrelation of the sharp gradients ∂f (2 side − 1, 2 side − 1), and their
    correlation with the blurred ones ∂y (side, side), float64. `sharp` are planes (H, W) float64,
    `blurred` are spectra (H, W // 2 + 1) complex128; the side of the PSF's support, pixels, is odd.
    """
    xp = library(sharp[0])
    power, cross = 0.0, 0.0
    for plane, observed in zip(sharp, blurred, strict=True):
        spectrum = transform.forward(plane)
        power = power + (spectrum * spectrum.conj())
        cross = cross + xp.conj(spectrum) * observed
    own = _lags(transform.inverse(power), 2 * side - 1)
    return own, _lags(transform.inverse(cross), side)


def conjugate_gradients(own: Float64, other: Float64) -> Float64:
    """Solve own ⊛ h + RIDGE · h = other for h (K, K), by STEPS steps from 0; see `correlations`.

    The result is not pruned: it may have negative values and any sum.
    """
    side = len(other)
    size = fft.next_fast_len(len(own), real=True)  # wrap-around stays outside the support
    spectrum = fft.rfft2(to_period(own, (size, size)))

    def apply(h: Float64) -> Float64:
        """Return the left-hand side for h."""
        product: Float64 = fft.irfft2(spectrum * fft.rfft2(h, (size, size)), (size, size))
        return product[:side, :side] + RIDGE * h

    h = np.zeros_like(other)
    residual, direction, energy = other, other, np.sum(other**2)
    for _ in range(STEPS):
        if not energy:
            break
        applied = apply(direction)
        product = np.sum(direction * applied)
        if not product:  # of an energy near the smallest number
            break
        step = energy / product
        h = h + step * direction
        residual = residual - step * applied
        before, energy = energy, np.sum(residual**2)
        direction = residual + energy / before * direction
    return h


def _lags(correlation: Any, side: int) -> Float64:
    """Return the lags −(side // 2) … side // 2 of a circular correlation, in main memory."""
    xp = library(correlation)
    half = side // 2
    rows, columns = (xp.asarray(np.arange(-half, half + 1) % size) for size in correlation.shape)
    found = correlation[rows[:, None], columns[None, :]]
    lags: Float64 = found if xp is np else found.get()
    return lags


def pruned(psf: Float64) -> Float64:
    """Return a PSF without negative or faint values and without small components, sum 1.

    If all components are small, all stay. If nothing is left, the result is 0.
    """
    least = max(FAINT * psf.max(), np.finfo(np.float64).tiny)
    result: Float64 = np.where(psf < least, 0, psf)
    labels, count = ndimage.label(result, NEIGHBOURS)
    masses = np.bincount(labels.ravel(), result.ravel(), count + 1)
    small = masses < SMALL * result.sum()
    if not small[1:].all():
        result[small[labels]] = 0
    return result / (result.sum() or 1)
