"""Differences of neighbours on a period, and which of them tell something of the blur.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from snellen.frames.arrays import library

QUANTILE = 0.95
"""Differences below it, by magnitude, are dropped; our experiments with Levin's images. Across and
down each have their own: with one for both, a picture of which most edges go one way tells of the
blur only across these (lab/mia-l0.md)."""


def differences(plane: Any) -> tuple[Any, Any]:
    """Return the differences to the next sample across and down, the last one's to the first."""
    xp = library(plane)
    return xp.roll(plane, -1, 1) - plane, xp.roll(plane, -1, 0) - plane


def divergence(across: Any, down: Any) -> Any:
    """Return the adjoint of `differences`, applied to two planes (its negative divergence)."""
    xp = library(across)
    total = xp.roll(across, 1, 1) - across
    total += xp.roll(down, 1, 0)
    total -= down
    return total


def laplacian(period: tuple[int, int], like: Any) -> Any:
    """Return the spectrum of the adjoint after `differences`: (H, W // 2 + 1), real."""
    down, across = (4 * np.sin(np.pi * np.arange(size) / size) ** 2 for size in period)
    return library(like).asarray(down[:, None] + across[None, : period[1] // 2 + 1])


def strongest(plane: Any) -> tuple[Any, Any]:
    """Return the differences across and down, all but the strongest 5 % of each set to 0."""
    across, down = differences(plane)
    return _strong(across), _strong(down)


def _strong(gradient: Any) -> Any:
    xp = library(gradient)
    magnitude = xp.abs(gradient)
    place = ceil(QUANTILE * (magnitude.size - 1))
    least = xp.partition(magnitude.ravel(), place)[place]
    return xp.where(magnitude < least, 0, gradient)
