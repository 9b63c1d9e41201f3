"""prior="l0": what blurred one photograph, found coarse to fine from few, sharp edges.

picture → pyramid → at each level, in turns: latent (few edges) → gradients (the strongest)
→ leastsquares (the PSF between) → prune → the next level.

Xu, Zheng, Jia, CVPR 2013; Pan et al., CVPR 2014; the constants from our experiments with the images
of Levin et al. 2009.
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
from snellen.mia.l0.leastsquares import fitted
from snellen.mia.l0.prune import centred, pruned
from snellen.mia.l0.pyramid import grow, levels, shrink
from snellen.mia.l0.transform import Transform

TURNS = 5  # at each level; Pan et al. 2014
WEIGHT = 4e-3  # λ of the first turn, for pictures of 0 … 1; ibid.
DECAY = 1.1  # by which λ falls each turn, through all levels; ibid.
LEAST = 1e-4  # λ falls no lower; ibid.
SIGMA = 1.0
"""Of the Gaussian that the coarsest level starts from, pixels there: symmetric, so that the PSF,
which is centred at the end only, drifts little (lab/mia-l0.md)."""

Float64 = npt.NDArray[np.float64]


def estimate(
    image: Any, psf_size: int = PSF_SIZE, tell: Callable[[int, int], object] | None = None
) -> Float64:
    """Return the PSF of a blurred picture.

    All is float64: in float32, where β = 10⁵ drowns the blur, one picture in three leads to another
    PSF (lab/mia-l0.md).

    Parameters
    ----------
    image : (rows, columns) float32 or float64
        Of NumPy, or of CuPy on the current GPU. Not smaller than the PSF. However dark: see
        `exposed`.
    psf_size : int
        Side of its support, pixels; even ones count one more. Little more than the blur is best.
    tell : callable, optional
        Called after each turn: tell(turns that are done, of how many). The later, the slower.

    Returns
    -------
    (K, K) float64
        In main memory; sum 1, centre of mass in the middle. Of a picture of one value, the Gaussian
        that MIA starts from.
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
        for turn in range(TURNS):
            psf = problem.better(psf, weight)
            weight = max(weight / DECAY, LEAST)
            if tell:
                tell(number * TURNS + turn + 1, len(every) * TURNS)
    return centred(psf)


def exposed(plane: Any) -> Any:
    """Return a picture, times the power of 2 by which its greatest sample is above 1/2, at most 1.

    λ, β and the PSF's regularisation are for pictures of 0 … 1. By a power of 2 nothing is rounded:
    one that fills half of that stays as it is, and one of 12 bits in 16 leads to the same PSF.
    """
    return plane / 2.0 ** ceil(log2(float(plane.max())))


class Problem:
    """A blurred picture at one level, and what of it each turn needs.

    Parameters
    ----------
    y : (H, W) float64
        On its period: opposite edges meet.
    """

    def __init__(self, y: Any):
        self._y, self._transform = y, Transform(y.shape, y)
        self._observed = self._transform.forward(y)
        self._curvature = laplacian(y.shape, y)
        across, down = (self._transform.forward(plane) for plane in differences(y))
        self._blurred = across, down

    def better(self, psf: Float64, weight: float) -> Float64:
        """Return the PSF (K, K) after a turn with λ = weight; the same where none is found."""
        h = psfs.to_period(library(self._y).asarray(psf), self._y.shape)
        blur = self._transform.forward(h)
        sharp = latent(self._y, self._observed, blur, weight, self._curvature, self._transform)
        found = pruned(fitted(strongest(sharp), self._blurred, len(psf), self._transform))
        return found if found.any() else psf
