"""The pyramid: sizes of picture and PSF at each level, and resampling from one to the next."""

from __future__ import annotations

from math import ceil, floor, log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library

COARSEST = 3
"""Least side of a PSF in pixels, before it is rounded up to an odd number. A PSF of 31 pixels has 7
levels, as in our experiments with Levin's images. Levels differ by √2, as in Cho & Lee 2009."""

Float64 = npt.NDArray[np.float64]


class Level(NamedTuple):
    """Sizes at one level of the pyramid."""

    shape: tuple[int, int]
    """Rows and columns of the picture."""
    side: int
    """Side of the PSF's support in pixels, odd."""


def levels(shape: tuple[int, int], side: int) -> list[Level]:
    """Return the levels, the coarsest first; the last one has the size of the input.

    There is no coarser level whose PSF, rounded up, would be larger than its picture or as large as
    that of the next level. `shape` and the odd `side` are those of picture and PSF, in pixels.
    """
    found = [Level(shape, side)]
    for number in range(1, floor(2 * log2(side / COARSEST)) + 1):
        scale = 2 ** (-number / 2)
        rows, columns = (ceil(size * scale) for size in shape)
        coarser = Level((rows, columns), 2 * (ceil(side * scale) // 2) + 1)
        if coarser.side > min(coarser.shape) or coarser.side == found[-1].side:
            break
        found.append(coarser)
    return found[::-1]


def shrink(plane: Any, shape: tuple[int, int]) -> Any:
    """Return a plane resampled to a smaller shape (rows, columns): linear, with antialiasing."""
    for axis, size in enumerate(shape):
        if size != plane.shape[axis]:
            plane = _weighted(plane, axis, *triangles(plane.shape[axis], size))
    return plane


def _weighted(plane: Any, axis: int, first: Any, weights: Float64) -> Any:
    """Return weighted sums along an axis: of samples first[i], first[i] + 1, … for sample i."""
    xp, last = library(plane), plane.shape[axis] - 1
    total = 0.0
    for tap, weight in enumerate(weights):
        at = xp.asarray(np.minimum(first + tap, last))
        share = xp.asarray(weight if axis else weight[:, None])
        total = total + share * xp.take(plane, at, axis)
    return total


def grow(psf: Float64, side: int) -> Float64:
    """Return a PSF (K, K) √2 times larger, for the next level: cubic, same middle, sum 1."""
    weights = _cubics(len(psf), side)
    larger: Float64 = np.maximum(weights @ psf @ weights.T, 0)
    larger /= larger.sum()
    return larger


def triangles(size: int, smaller: int) -> tuple[npt.NDArray[np.int64], Float64]:
    """Return triangles as wide as a new sample, cut off at the edges of `size` input samples.

    They are (smaller,) int64, the first input sample of each new one, and (taps, smaller) float64,
    the weights of the samples from there on, of sum 1.
    """
    ratio = size / smaller
    middle = (np.arange(smaller) - (smaller - 1) / 2) * ratio + (size - 1) / 2
    first = np.maximum(np.floor(middle - ratio).astype(np.int64) + 1, 0)
    at = first + np.arange(floor(2 * ratio) + 1)[:, None]
    weights = np.where(at < size, np.maximum(1 - np.abs(at - middle) / ratio, 0), 0)
    weights /= weights.sum(0)
    return first, weights


def _cubics(size: int, larger: int) -> Float64:
    """Return the weights (larger, size) of Keys' cubic (a = −1/2); 0 counts beyond the edge."""
    # New samples are √½ input samples apart, and both grids have the same middle.
    positions = (np.arange(larger) - (larger - 1) / 2) * 2**-0.5 + (size - 1) / 2
    distance = np.abs(np.arange(size) - positions[:, None])
    near = 1.5 * distance**3 - 2.5 * distance**2 + 1
    far = -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
