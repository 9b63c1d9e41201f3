"""Step 5b of A+: each high-resolution patch is its anchor's projection matrix times its feature."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled

BLOCK = 16  # patches that are transposed at a time: one cache line of each output row


@compiled
def regress(features, index, projections, out):  # type: ignore[no-untyped-def]
    """Multiply each feature by the matrix of its anchor.

    Parameters
    ----------
    features : (d, n) float32
        One column for each patch.
    index : (n,) int32
        Anchor of each patch.
    projections : (k, d, p) float32
        Matrix of each anchor, transposed so that the inner loop runs over the p pixels of a patch.
    out : (p, n) float32
        Patches, one column each, so that `overlap.overlap` reads along rows.
    """
    count = features.shape[1]
    size = len(out)
    patches = np.empty((BLOCK, size), np.float32)
    for start in range(0, count, BLOCK):
        n = min(BLOCK, count - start)
        for q in range(n):
            _project(projections[index[start + q]], features[:, start + q], patches[q])
        for j in range(size):
            for q in range(n):
                out[j, start + q] = patches[q, j]


@compiled
def _project(matrix, feature, out):  # type: ignore[no-untyped-def]
    """Compute out = featureᵀ · matrix, four dimensions a pass to save loads and stores of `out`."""
    dims = len(feature)
    unrolled = dims - dims % 4
    out[:] = 0
    for k in range(0, unrolled, 4):
        a, b, c, d = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
        e, f, g, h = feature[k], feature[k + 1], feature[k + 2], feature[k + 3]
        for j in range(len(out)):
            out[j] += (a[j] * e + b[j] * f) + (c[j] * g + d[j] * h)
    for k in range(unrolled, dims):
        f = feature[k]
        for j in range(len(out)):
            out[j] += matrix[k, j] * f
