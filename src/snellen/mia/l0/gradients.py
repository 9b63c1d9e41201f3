"""Gradients of periodic pictures, and the selection of those from which the PSF is estimated.

The functions take NumPy or CuPy arrays and return arrays of the same library.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from snellen.frames.arrays import library

QUANTILE = 0.95
"""Share of the gradients, by magnitude, that is set to 0; from our experiments with Levin's images.
Each direction has its own threshold. With a common one, a picture with most edges in one direction
would determine the blur across these edges only (lab/mia-l0.md)."""


def differences(plane: Any) -> tuple[Any, Any]:
    """Return the forward differences of a periodic plane (H, W), across and down."""
    xp = library(plane)
    return xp.roll(plane, -1, 1) - plane, xp.roll(plane, -1, 0) - plane


def divergence(across: Any, down: Any) -> Any:
    """Return the adjoint of `differences` (the negative divergence) of two planes (H, W)."""
    xp = library(across)
    total = xp.roll(across, 1, 1) - across
    total += xp.roll(down, 1, 0)
    total -= down
    return total


def laplacian(period: tuple[int, int], like: Any) -> tuple[Any, Any]:
    """Return the two parts of the spectrum of `divergence` of `differences`, which is their sum.

    That is the negative Laplacian; its spectrum is real. By the frequency down they are (H,), by
    the one across, of the half spectrum, (W // 2 + 1,); float64, of the library and on the device
    of `like`.
    """
    down, across = (4 * np.sin(np.pi * np.arange(size) / size) ** 2 for size in period)
    xp = library(like)
    return xp.asarray(down), xp.asarray(across[: period[1] // 2 + 1])


def strongest(plane: Any) -> tuple[Any, Any]:
    """Return the differences of a plane across and down, all but the strongest 5 % of each as 0."""
    across, down = differences(plane)
    return _strongest(across), _strongest(down)


def _strongest(gradient: Any) -> Any:
    xp = library(gradient)
    magnitude = xp.abs(gradient)
    rank = ceil(QUANTILE * (magnitude.size - 1))
    least = xp.partition(magnitude.ravel(), rank)[rank]
    return xp.where(magnitude < least, 0, gradient)
