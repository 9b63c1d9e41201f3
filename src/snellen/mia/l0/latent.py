"""The picture as it would be with few edges: of flat regions, blurred by the PSF so far.

Xu, Zheng, Jia 2013; Pan et al. 2014: min ‖h ⊛ f − y‖² + λ ‖∇f‖₀, where ‖·‖₀ counts samples with any
gradient. The gradient is split off: given f, g is ∇f where |∇f|² ≥ λ/β, else 0; given g, f is the
least squares of ‖h ⊛ f − y‖² + β ‖∇f − g‖²; and β grows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.frames.arrays import library
from snellen.mia.l0.gradients import differences, divergence
from snellen.mia.l0.transform import Transform

FIRST = 2.0  # β starts at so many λ; Xu, Lu, Xu, Jia 2011 (L0 smoothing)
GROWTH = 2.0  # by which β grows each time; ibid.
LAST = 1e5  # β ends below it; ibid.


def latent(
    y: Any, observed: Any, blur: Any, weight: float, curvature: Any, transform: Transform
) -> Any:
    """Return the picture (H, W).

    Parameters
    ----------
    y : (H, W) float64
        What came, on the period.
    observed : (H, W // 2 + 1) complex128
        Its spectrum.
    blur : (H, W // 2 + 1) complex128
        Spectrum of the PSF.
    weight : float
        λ.
    curvature : (H, W // 2 + 1) float64
        As `gradients.laplacian` gives it.
    transform : Transform
        Of the period.
    """
    xp = library(y)
    back, power = xp.conj(blur) * observed, blur.real * blur.real + blur.imag * blur.imag
    f, beta = y, FIRST * weight
    while beta < LAST:
        across, down = differences(f)
        keep = (across * across + down * down >= weight / beta).astype(np.float64)
        spectrum = transform.forward(divergence(across * keep, down * keep))
        spectrum *= beta
        spectrum += back
        spectrum /= power + beta * curvature
        f = transform.inverse(spectrum)
        beta *= GROWTH
    return f
