"""Peak signal-to-noise ratio of two planes."""

from __future__ import annotations

from math import inf, log10
from typing import Any

import numpy as np
import numpy.typing as npt

ROWS = 64  # of a strip, which stays in the cache


def psnr(reference: npt.NDArray[Any], distorted: npt.NDArray[Any], white: float) -> float:
    """Return 10·log₁₀(white² / mean squared error) in dB; of equal planes infinity.

    Parameters
    ----------
    reference, distorted : (H, W) array
    white : float
        The peak, which is the sample value of white: 2^bits − 1 of integers.
    """
    total = 0.0
    for top in range(0, len(reference), ROWS):
        error = np.subtract(
            reference[top : top + ROWS], distorted[top : top + ROWS], dtype=np.float64
        ).ravel()
        total += float(error @ error)
    return 10 * log10(white**2 * reference.size / total) if total else inf
