"""What of an estimated PSF is a blur, and what is noise of the estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from snellen.mia.psf import centroid

FAINT = 0.05  # of the greatest: values below are dropped; our experiments with Levin's images
SMALL = 0.1  # of the sum: connected parts below are dropped; likewise
NEIGHBOURS = np.ones((3, 3))  # what is connected: diagonals count, since a hand's path has them

Float64 = npt.NDArray[np.float64]


def pruned(psf: Float64) -> Float64:
    """Return a PSF without negative and faint values and small parts, sum 1; 0 if nothing is left.

    Parts are judged beside each other: where all are small, all stay.
    """
    least = max(FAINT * psf.max(), np.finfo(np.float64).tiny)
    kept: Float64 = np.where(psf < least, 0, psf)
    labels, count = ndimage.label(kept, NEIGHBOURS)
    masses = np.bincount(labels.ravel(), kept.ravel(), count + 1)
    small = masses < SMALL * kept.sum()
    if not small[1:].all():
        kept[small[labels]] = 0
    return kept / (kept.sum() or 1)


def centred(psf: Float64) -> Float64:
    """Return a PSF moved by whole pixels so that its centre of mass is the middle, sum 1."""
    down, right = centroid(psf)
    moved: Float64 = ndimage.shift(psf, (-down, -right), order=0, prefilter=False)
    moved /= moved.sum()
    return moved
