"""Structural similarity: Wang, Bovik, Sheikh, Simoncelli, IEEE Trans. Image Proc. 13(4), 2004.

Constants are those of section III-C and of the authors' `ssim_index.m`: a Gaussian window of
11 × 11 with σ = 1.5 and unit sum, K₁ = 0.01, K₂ = 0.03, L = white, and the mean over all windows
that lie wholly in the picture. Pictures are not shrunk before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]

WINDOW, SIGMA = 11, 1.5  # pixels
K1, K2 = 0.01, 0.03
HALF = WINDOW // 2
ROWS = 32  # windows of a strip, which stays in the cache


def ssim(reference: npt.NDArray[Any], distorted: npt.NDArray[Any], white: float = 255.0) -> float:
    """Return the mean structural similarity of two planes; of equal ones exactly 1.

    Parameters
    ----------
    reference, distorted : (H, W) array
        At least 11 × 11.
    white : float
        The sample value of white, L in the article.
    """
    rows, total = len(reference) - 2 * HALF, 0.0
    for top in range(0, rows, ROWS):
        part = slice(top, min(top + ROWS, rows) + 2 * HALF)
        total += _sum(reference[part].astype(np.float64), distorted[part].astype(np.float64), white)
    windows: int = rows * (reference.shape[1] - 2 * HALF)
    return total / windows


def _sum(a: Float64, b: Float64, white: float) -> float:
    """Return the sum of the similarity of all windows."""
    c1, c2 = (K1 * white) ** 2, (K2 * white) ** 2
    mean_a, mean_b, squares, product = weighted(np.stack([a, b, a * a + b * b, a * b]))
    means = mean_a * mean_b
    mean_squares = mean_a**2 + mean_b**2
    above = (2 * means + c1) * (2 * (product - means) + c2)
    below = (mean_squares + c1) * (squares - mean_squares + c2)
    return float((above / below).sum())


def weighted(planes: Float64) -> Float64:
    """Return the weighted means of all windows of planes (…, H, W): (…, H − 10, W − 10)."""
    weights = np.exp(-0.5 * (np.arange(-HALF, 1) / SIGMA) ** 2)
    weights /= 2 * weights.sum() - weights[-1]
    for axis in (-2, -1):
        count = planes.shape[axis] - 2 * HALF
        taps = [
            planes[..., tap : tap + count, :] if axis == -2 else planes[..., tap : tap + count]
            for tap in range(WINDOW)
        ]
        total = weights[HALF] * taps[HALF]
        for tap in range(HALF):  # the window is symmetrical
            both = taps[tap] + taps[-1 - tap]
            both *= weights[tap]
            total += both
        planes = total
    return planes
