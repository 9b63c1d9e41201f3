"""Coarse to fine: how large picture and PSF are at each level, and the way from one to the next."""

from __future__ import annotations

from math import ceil, floor, log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library

COARSEST = 3
"""Least side of a PSF, before it is rounded up to an odd one. Of 31 there are 7 levels, as in our
experiments with Levin's images; from each to the next it is by 1/√2, as in Cho & Lee 2009."""

Float64 = npt.NDArray[np.float64]


class Level(NamedTuple):
    """One of them."""

    shape: tuple[int, int]
    """Rows and columns of the picture."""
    side: int
    """Of the PSF's support, odd."""


def levels(shape: tuple[int, int], side: int) -> list[Level]:
    """Return the levels, the coarsest first; the last is the picture as it came.

    They end where a PSF, which is rounded up, would be larger than its picture or no smaller than
    that of the next level.
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
    """Return a plane (rows, columns) made smaller: linear, a sample's triangle as wide as it is."""
    for axis, size in enumerate(shape):
        if size != plane.shape[axis]:
            weights = _triangles(plane.shape[axis], size)
            weights = library(plane).asarray(weights)
            plane = weights @ plane if axis == 0 else plane @ weights.T
    return plane


def grow(psf: Float64, side: int) -> Float64:
    """Return a PSF (K, K) at the next level, √2 times as large about its middle, sum 1: cubic."""
    weights = _cubics(len(psf), side)
    larger: Float64 = np.maximum(weights @ psf @ weights.T, 0)
    larger /= larger.sum()
    return larger


def _triangles(size: int, smaller: int) -> Float64:
    """Return the weights (smaller, size) of samples; at edges those that are there count."""
    away = _away(size, smaller, size / smaller)
    weights: Float64 = np.maximum(1 - np.abs(away) * smaller / size, 0)
    weights /= weights.sum(1, keepdims=True)
    return weights


def _cubics(size: int, larger: int) -> Float64:
    """Return the weights (larger, size) of samples, by Keys' cubic (a = −1/2); beyond are 0."""
    away = np.abs(_away(size, larger, 2**-0.5))
    near = 1.5 * away**3 - 2.5 * away**2 + 1
    far = -0.5 * away**3 + 2.5 * away**2 - 4 * away + 2
    return np.where(away <= 1, near, np.where(away < 2, far, 0))


def _away(size: int, other: int, step: float) -> Float64:
    """Return how far each sample (columns) is from where each new one is taken (rows).

    New samples are `step` apart; the middle of all is the middle of all.
    """
    places = (np.arange(other) - (other - 1) / 2) * step + (size - 1) / 2
    return np.arange(size) - places[:, None]
