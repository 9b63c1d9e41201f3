"""prior="l0": estimate the PSF of one photograph from its strongest edges, from coarse to fine.

At each level of the pyramid (pyramid.py), each iteration computes the latent picture with few edges
(latent.py), takes its strongest gradients (gradients.py), estimates the PSF between them and the
gradients of the blurred picture, and prunes it (leastsquares.py).

Xu, Zheng, Jia, CVPR 2013; Pan et al., CVPR 2014. Constants without another source are from our
experiments with the images of Levin et al. 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.pool import Pool
from snellen.engine.prepared import borrowed
from snellen.errors import DeviceMemoryError
from snellen.frames.arrays import library
from snellen.gpu import device as devices
from snellen.mia import psf as psfs
from snellen.mia.centre import centred
from snellen.mia.definition import PSF_SIZE, START
from snellen.mia.edges import taper
from snellen.mia.l0.crops import chosen
from snellen.mia.l0.problem import Problem
from snellen.mia.l0.pyramid import COARSEST, Level, grow, levels, shrink

ITERATIONS = 5  # iterations at each level; Pan et al. 2014
WEIGHT = 4e-3  # λ of the first iteration, for pictures in 0 … 1; ibid.
DECAY = 1.1  # λ is divided by this after each iteration, at all levels; ibid.
LEAST = 1e-4  # lower limit of λ; ibid.
STARTS = ((1.0, 2.0), (1.0, 1.0), (0.7, 2.0), (0.5, 1.0))
"""Searches start with these: the side of the PSF, as a share of that asked for, and a factor of λ.
A search may end in a wrong PSF, and other sizes and weights in the right one."""
MOST = 127
"""Greatest side of a PSF, pixels, of which the GPU computes all. A step of the conjugate gradients
takes side⁴ products there; for larger ones the CPU's transforms are quicker."""
SIGMA = 1.0
"""Standard deviation, in pixels of the coarsest level, of the Gaussian that is the first PSF. The
PSF is centred at the end only; a symmetric start keeps its drift small (lab/mia-l0.md)."""

Float64 = npt.NDArray[np.float64]
Progress = Callable[[int, int], object]
"""Called after each iteration with the number of iterations done, and of all. Later ones take
longer."""


def candidates(image: Any, psf_size: int = PSF_SIZE, progress: Progress | None = None) -> Float64:
    """Return PSFs of a blurred picture, one of each start: (1 … 4, K, K) float64 in main memory.

    Each has the sum 1, and its centre of mass in the middle. All arithmetic is float64. In float32,
    the term with β = 10⁵ drowns that of the blur, and one picture in three leads to another PSF
    (lab/mia-l0.md). For a constant picture the PSF is the Gaussian from which MIA starts.

    `image` (rows, columns), float32 or float64, is luma, of NumPy or of CuPy on the current GPU,
    and not smaller than the PSF; the range of its values does not matter, see `exposure`.
    `psf_size` is the side of the PSF's support in pixels; an even one is increased by one. A
    support a little larger than the blur works best.
    """
    side = psfs.side(psf_size)
    starts = [(side, 1.0)]
    if float(image.min()) != float(image.max()):
        starts = [
            (psfs.side(max(1, int(share * side))), factor)
            for share, factor in STARTS
            if share == 1 or share * side >= COARSEST
        ]
    total = sum(len(levels(image.shape, one)) * ITERATIONS for one, _ in starts)
    done = 0

    def report(iterations: int) -> None:
        nonlocal done
        done += iterations
        if progress:
            progress(done, total)

    found = _estimates(image, starts, report)
    pairs = zip(found, starts, strict=True)
    return np.stack([np.pad(psf, (side - one) // 2) for psf, (one, _) in pairs])


def _estimates(
    image: Any, starts: Sequence[tuple[int, float]], report: Callable[[int], object]
) -> list[Float64]:
    """Return the PSFs of a picture from several starts: sides of the PSF, and factors of λ."""
    # On a GPU they are searched side by side, where its memory suffices.
    if float(image.min()) == float(image.max()):
        return [psfs.gaussian(START, side) for side, _ in starts]
    divisor = exposure(image)
    every = [_Start.of(image, divisor, *one) for one in starts]
    there = library(image) is not np
    reported = 0  # of searches that ended for lack of memory

    def begin(iterations: int) -> None:
        nonlocal reported
        reported += iterations
        report(iterations)

    def resume(iterations: int) -> None:
        nonlocal reported
        known = min(reported, iterations)
        reported -= known
        if known < iterations:
            report(iterations - known)

    if there and len(every) > 1 and max(one.side for one in every) <= MOST:
        with suppress(DeviceMemoryError), devices.reporting():  # one after another they may fit
            return [centred(psf) for psf in _side_by_side(every, begin)]
    found = []
    for one in every:
        first, weights = one.psf, one.weights
        if there and one.side <= MOST:
            psf = _search_there(one.pictures, divisor, one.side, first, weights, resume)
        else:
            psf = _search(one.pictures, divisor, one.levels, first, weights, resume)
        found.append(centred(psf))
    return found


class _Start(NamedTuple):
    """The beginning of a search."""

    pictures: list[Any]
    divisor: float
    side: int
    levels: list[Level]
    psf: Float64
    weights: list[list[float]]

    @classmethod
    def of(cls, image: Any, divisor: float, side: int, factor: float) -> _Start:
        """Return that of a picture, by the side of the PSF and a factor of λ."""
        pictures = [image[part] for part in chosen(image, side)]
        every = levels(pictures[0].shape, side)
        first = psfs.gaussian(SIGMA, every[0].side)
        return cls(pictures, divisor, side, every, first, _weights(len(every), factor))


def _search(
    pictures: list[Any], divisor: float, every: list[Level], psf: Float64,
    weights: list[list[float]], report: Callable[[int], object],
) -> Float64:  # fmt: skip
    """Return the PSF of pictures of one shape and one blur, from the first one; not centred."""
    scaled = [picture.astype(np.float64) / divisor for picture in pictures]
    with ExitStack() as stack:
        pools = [stack.enter_context(Pool(threads.available())) for _ in range(2)]
        for number, level in enumerate(every):
            psf = grow(psf, level.side) if number else psf
            planes = [taper(shrink(picture, level.shape), level.side) for picture in scaled]
            problem = Problem(planes, (pools[0], pools[1]))
            for weight in weights[number]:
                psf = problem.refined(psf, weight)
                report(1)
    return psf


def _search_there(
    pictures: list[Any], divisor: float, side: int, first: Float64, weights: list[list[float]],
    report: Callable[[int], object],
) -> Float64:  # fmt: skip
    """Return the same of pictures on a GPU, by kernels of our own."""
    with _searching(pictures, side) as search:
        found: Float64 = search.run(pictures, divisor, first, weights, report)
    return found


def _side_by_side(starts: list[_Start], report: Callable[[int], object]) -> list[Float64]:
    """Return the same of several starts, whose searches share the GPU."""
    from snellen.mia.l0.cuda.search import together

    with ExitStack() as stack:
        searches = [stack.enter_context(_searching(one.pictures, one.side)) for one in starts]
        return together([
            search.begin(one.pictures, one.divisor, one.psf, one.weights, report)
            for search, one in zip(searches, starts, strict=True)
        ])  # fmt: skip


def _searching(pictures: list[Any], side: int) -> AbstractContextManager[Any]:
    """Return a context with a prepared Search for pictures on a GPU."""
    from snellen.mia.l0.cuda.search import Search

    device = f"cuda:{pictures[0].device.id}"
    what = device, pictures[0].shape, len(pictures), side
    return borrowed(device, (Search, *what), lambda: Search(*what))


def _weights(count: int, factor: float = 1.0) -> list[list[float]]:
    """Return λ of each iteration at each of `count` levels."""
    every, weight = [], WEIGHT * factor
    for _ in range(count * ITERATIONS):
        every.append(weight)
        weight = max(weight / DECAY, LEAST)
    return [every[first : first + ITERATIONS] for first in range(0, len(every), ITERATIONS)]


def exposure(image: Any) -> float:
    """Return the power of 2 that brings the greatest sample into (1/2, 1], as a divisor.

    λ, β and the ridge are meant for pictures in 0 … 1. Division by a power of 2 does not round. A
    picture that uses more than half of that range is unchanged, and 12-bit samples in a 16-bit file
    lead to the same PSF as in their own range.
    """
    return 2.0 ** ceil(log2(float(image.max())))
