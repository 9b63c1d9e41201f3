"""The latent picture: the picture with few edges that, blurred by the current PSF, explains y.

Xu, Zheng, Jia 2013; Pan et al. 2014: f minimises ‖h ⊛ f − y‖² + λ ‖∇f‖₀, where ‖·‖₀ counts the
samples with a gradient. Half-quadratic splitting introduces g for ∇f and alternates between two
steps while β grows. Given f, g is ∇f where |∇f|² ≥ λ/β, else 0. Given g, f minimises
‖h ⊛ f − y‖² + β ‖∇f − g‖², a linear problem that is diagonal in the Fourier domain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.frames.arrays import library
from snellen.mia.l0.gradients import differences, divergence
from snellen.mia.l0.transform import Transform

FIRST = 2.0  # first β / λ; Xu, Lu, Xu, Jia 2011 (L0 smoothing)
GROWTH = 2.0  # factor from each β to the next; ibid.
LAST = 1e5  # β stays below this; ibid.


def latent(
    y: Any, observed: Any, blur: Any, weight: float, curvature: Any, transform: Transform
) -> Any:
    """Return the latent picture.

    Parameters
    ----------
    y : (H, W) float64
        The blurred picture, periodic.
    observed : (H, W // 2 + 1) complex128
        Spectrum of y.
    blur : (H, W // 2 + 1) complex128
        Spectrum of the PSF h.
    weight : float
        λ.
    curvature : (H, W // 2 + 1) float64
        Spectrum of the negative Laplacian, see `gradients.laplacian`.
    transform : Transform
        Fourier transforms of this size.

    Returns
    -------
    (H, W) float64
        f.
    """
    xp = library(y)
    data, power = xp.conj(blur) * observed, blur.real * blur.real + blur.imag * blur.imag
    f, beta = y, FIRST * weight
    while beta < LAST:
        across, down = differences(f)
        keep = (across * across + down * down >= weight / beta).astype(np.float64)
        spectrum = transform.forward(divergence(across * keep, down * keep))
        spectrum *= beta
        spectrum += data
        spectrum /= power + beta * curvature
        f = transform.inverse(spectrum)
        beta *= GROWTH
    return f
