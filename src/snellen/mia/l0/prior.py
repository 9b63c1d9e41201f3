"""prior="l0": estimate the PSF of one photograph from its strongest edges, from coarse to fine.

At each level of the pyramid (pyramid.py), each iteration computes the latent picture with few edges
(latent.py), takes its strongest gradients (gradients.py), estimates the PSF between them and the
gradients of the blurred picture (leastsquares.py), and prunes it (prune.py).

Xu, Zheng, Jia, CVPR 2013; Pan et al., CVPR 2014. Constants without another source are from our
experiments with the images of Levin et al. 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library
from snellen.mia import psf as psfs
from snellen.mia.definition import PSF_SIZE, START
from snellen.mia.edges import taper
from snellen.mia.l0.gradients import differences, laplacian, strongest
from snellen.mia.l0.latent import latent
from snellen.mia.l0.leastsquares import estimate_psf
from snellen.mia.l0.prune import centred, pruned
from snellen.mia.l0.pyramid import grow, levels, shrink
from snellen.mia.l0.transform import Transform

ITERATIONS = 5  # iterations at each level; Pan et al. 2014
WEIGHT = 4e-3  # λ of the first iteration, for pictures in 0 … 1; ibid.
DECAY = 1.1  # λ is divided by this after each iteration, at all levels; ibid.
LEAST = 1e-4  # lower limit of λ; ibid.
SIGMA = 1.0
"""Standard deviation, in pixels of the coarsest level, of the Gaussian that is the first PSF. The
PSF is centred at the end only; a symmetric start keeps its drift small (lab/mia-l0.md)."""

Float64 = npt.NDArray[np.float64]


def estimate(
    image: Any, psf_size: int = PSF_SIZE, progress: Callable[[int, int], object] | None = None
) -> Float64:
    """Return the PSF of a blurred picture.

    All arithmetic is float64. In float32, the term with β = 10⁵ drowns that of the blur, and one
    picture in three leads to another PSF (lab/mia-l0.md).

    Parameters
    ----------
    image : (rows, columns) float32 or float64
        Luma, as a NumPy array or as a CuPy array on the current GPU; not smaller than the PSF. The
        range of its values does not matter, see `exposed`.
    psf_size : int
        Side of the PSF's support in pixels; an even one is increased by one. A support a little
        larger than the blur works best.
    progress : callable, optional
        Called after each iteration as progress(iterations done, all iterations). Later iterations
        take longer.

    Returns
    -------
    (K, K) float64
        In main memory; sum 1, centre of mass in the middle. For a constant picture it is the
        Gaussian from which MIA starts.
    """
    side = psfs.side(psf_size)
    plane = image.astype(np.float64)
    if plane.min() == plane.max():
        return psfs.gaussian(START, side)
    plane, every = exposed(plane), levels(plane.shape, side)
    weight, psf = WEIGHT, psfs.gaussian(SIGMA, every[0].side)
    for number, (shape, support) in enumerate(every):
        if number:
            psf = grow(psf, support)
        problem = Problem(taper(shrink(plane, shape), support))
        for iteration in range(ITERATIONS):
            psf = problem.refined(psf, weight)
            weight = max(weight / DECAY, LEAST)
            if progress:
                progress(number * ITERATIONS + iteration + 1, len(every) * ITERATIONS)
    return centred(psf)


def exposed(plane: Any) -> Any:
    """Return a picture times the power of 2 that brings its greatest sample into (1/2, 1].

    λ, β and the ridge are meant for pictures in 0 … 1. Multiplication by a power of 2 does not
    round. A picture that uses more than half of that range is unchanged, and 12-bit samples in a
    16-bit file lead to the same PSF as in their own range.
    """
    return plane / 2.0 ** ceil(log2(float(plane.max())))


class Problem:
    """A blurred picture at one level, with the spectra that every iteration needs.

    Parameters
    ----------
    y : (H, W) float64
        The picture; it is taken as periodic, so opposite edges should match.
    """

    def __init__(self, y: Any):
        self._y, self._transform = y, Transform(y.shape, y)
        self._observed = self._transform.forward(y)
        self._curvature = laplacian(y.shape, y)
        across, down = (self._transform.forward(plane) for plane in differences(y))
        self._blurred = across, down

    def refined(self, psf: Float64, weight: float) -> Float64:
        """Return the PSF (K, K) after an iteration with λ = weight, or the old one if it is 0."""
        h = psfs.to_period(library(self._y).asarray(psf), self._y.shape)
        blur = self._transform.forward(h)
        sharp = latent(self._y, self._observed, blur, weight, self._curvature, self._transform)
        found = pruned(estimate_psf(strongest(sharp), self._blurred, len(psf), self._transform))
        return found if found.any() else psf
