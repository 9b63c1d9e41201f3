"""Structural similarity: Wang, Bovik, Sheikh, Simoncelli, IEEE Trans. Image Proc. 13(4), 2004.

Constants are those of section III-C and of the authors' `ssim_index.m`: a Gaussian window of
11 × 11 with σ = 1.5 and unit sum, K₁ = 0.01, K₂ = 0.03, L = 255, and the mean over all windows
that lie wholly in the picture. Pictures are not shrunk before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]

WINDOW, SIGMA = 11, 1.5  # pixels
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # squares of code values


def ssim(reference: npt.NDArray[Any], estimate: npt.NDArray[Any]) -> float:
    """Return the mean structural similarity of two planes of code values 0 … 255."""
    a, b = (np.asarray(plane, np.float64) for plane in (reference, estimate))
    mean_a, mean_b = weighted(a), weighted(b)
    var_a = weighted(a * a) - mean_a**2
    var_b = weighted(b * b) - mean_b**2
    both = weighted(a * b) - mean_a * mean_b
    above = (2 * mean_a * mean_b + C1) * (2 * both + C2)
    below = (mean_a**2 + mean_b**2 + C1) * (var_a + var_b + C2)
    return float(np.mean(above / below))


def weighted(plane: Float64) -> Float64:
    """Return the weighted means of all windows, (H − 10, W − 10)."""
    weights = np.exp(-0.5 * ((np.arange(WINDOW) - WINDOW // 2) / SIGMA) ** 2)
    weights /= weights.sum()
    for _ in range(2):
        rows = len(plane) - WINDOW + 1
        total = np.zeros((rows, plane.shape[1]))
        for tap, weight in enumerate(weights):
            total += weight * plane[tap : tap + rows]
        plane = total.T
    return plane
