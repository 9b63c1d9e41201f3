"""Pruning of an estimated PSF: removal of values that are noise of the estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

# Both limits are from our experiments with Levin's images.
FAINT = 0.05  # values below this share of the greatest are set to 0
SMALL = 0.1  # connected components below this share of the sum are set to 0
NEIGHBOURS = np.ones((3, 3))  # 8-connectivity, since the path of a shaking hand has diagonals

Float64 = npt.NDArray[np.float64]


def pruned(psf: Float64) -> Float64:
    """Return a PSF without negative or faint values and without small components, sum 1.

    If all components are small, all stay. If nothing is left, the result is 0.
    """
    least = max(FAINT * psf.max(), np.finfo(np.float64).tiny)
    result: Float64 = np.where(psf < least, 0, psf)
    labels, count = ndimage.label(result, NEIGHBOURS)
    masses = np.bincount(labels.ravel(), result.ravel(), count + 1)
    small = masses < SMALL * result.sum()
    if not small[1:].all():
        result[small[labels]] = 0
    return result / (result.sum() or 1)
