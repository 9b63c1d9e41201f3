"""Step 5b of A+: the high-resolution patch, projection of the chosen anchor times the feature."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def regress(features, index, projections, out):  # type: ignore[no-untyped-def]
    """Project each feature with the matrix of its anchor.

    Parameters
    ----------
    features : (d, n) float32
    index : (n,) int32
    projections : (k, d, p) float32, transposed so that the inner loop runs over the patch
    out : (n, p) float32
    """
    dims, count = features.shape
    for i in range(count):
        matrix = projections[index[i]]
        patch = out[i]
        for j in range(patch.size):
            patch[j] = matrix[0, j] * features[0, i]
        for k in range(1, dims):
            f = features[k, i]
            for j in range(patch.size):
                patch[j] += matrix[k, j] * f
