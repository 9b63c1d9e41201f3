"""Step 5b of A+: each high-resolution patch is its anchor's projection matrix times its feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

BLOCK = 16  # patches that are transposed at a time: one cache line of each output row


Float32 = npt.NDArray[np.float32]


def regress(
    features: Float32, index: npt.NDArray[np.int32], projections: Float32, out: Float32
) -> None:
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
    scratch = np.empty((BLOCK, len(out)), np.float32)
    _regress(np.ascontiguousarray(features), index, projections, scratch, out)


@compiled(strided=("out",))
def _regress(features, index, projections, patches, out):  # type: ignore[no-untyped-def]
    dims, count, size = features.shape[0], features.shape[1], out.shape[0]
    unrolled = dims - dims % 4
    for start in range(0, count, BLOCK):
        n = min(BLOCK, count - start)
        for q in range(n):
            matrix, patch = projections[index[start + q]], patches[q]
            for j in range(size):
                patch[j] = 0
            for k in range(0, unrolled, 4):  # four dimensions a pass save loads and stores
                a, b, c, d = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
                e, f = features[k, start + q], features[k + 1, start + q]
                g, h = features[k + 2, start + q], features[k + 3, start + q]
                for j in range(size):
                    patch[j] += (a[j] * e + b[j] * f) + (c[j] * g + d[j] * h)
            for k in range(unrolled, dims):
                f = features[k, start + q]
                for j in range(size):
                    patch[j] += matrix[k, j] * f
        for j in range(size):
            for q in range(n):
                out[j, start + q] = patches[q, j]
