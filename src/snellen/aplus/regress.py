"""Step 5b of A+: each high-resolution patch is its anchor's projection matrix times its feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

BLOCK = 16  # patches that are transposed at a time: one cache line of each output row


Float32 = npt.NDArray[np.float32]


def regress(
    features: Float32,
    index: npt.NDArray[np.int32],
    projections: Float32,
    out: Float32,
    signs: Float32 | None = None,
    places: npt.NDArray[np.int32] | None = None,
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
    signs : (3, n) float32, optional
        Signs by which the features were turned, see `orientation`; their patches are turned back.
    places : (8, p) int32, optional
        With `signs`: see `symmetry.places`.
    """
    scratch = np.empty((BLOCK, len(out)), np.float32)
    features = np.ascontiguousarray(features)
    if signs is None:
        _regress(features, index, projections, scratch, out)
    else:
        turned = np.empty_like(scratch)
        _regress_turned(features, index, projections, signs, places, scratch, turned, out)


@compiled(strided=("out",))
def _regress(features, index, projections, patches, out):  # type: ignore[no-untyped-def]
    count = features.shape[1]
    for start in range(0, count, BLOCK):
        n = min(BLOCK, count - start)
        _project(features, index, projections, start, n, patches)
        for j in range(out.shape[0]):
            for q in range(n):
                out[j, start + q] = patches[q, j]


@compiled(strided=("out",))
def _regress_turned(features, index, projections, signs, places, patches, turned, out):  # type: ignore[no-untyped-def]
    count, size = features.shape[1], out.shape[0]
    for start in range(0, count, BLOCK):
        n = min(BLOCK, count - start)
        _project(features, index, projections, start, n, patches)
        for q in range(n):
            across, down, order = signs[0, start + q], signs[1, start + q], signs[2, start + q]
            patch, whole = patches[q], turned[q]
            if across * down * order != 0:
                place = places[(across < 0) + 2 * (down < 0) + 4 * (order < 0)]
                for j in range(size):
                    whole[place[j]] = patch[j]
            else:  # a tie: the mean over all orientations with these signs
                for j in range(size):
                    whole[j] = 0
                ties = (1 + (across == 0)) * (1 + (down == 0)) * (1 + (order == 0))
                share = np.float32(1) / np.float32(ties)
                for g in range(8):
                    if (across * (1 - 2 * (g & 1)) >= 0 and down * (1 - (g & 2)) >= 0
                            and order * (2 - (g & 4)) >= 0):  # fmt: skip
                        place = places[g]
                        for j in range(size):
                            whole[place[j]] += share * patch[j]
        for j in range(size):
            for q in range(n):
                out[j, start + q] = turned[q, j]


@compiled
def _project(features, index, projections, start, n, patches):  # type: ignore[no-untyped-def]
    """Compute patches start … start + n − 1, row by row."""
    dims, size = features.shape[0], patches.shape[1]
    unrolled = dims - dims % 4
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
