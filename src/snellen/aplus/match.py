"""Step 5a of A+: the anchor of each feature, argmax over all anchors of |anchor · feature|."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

PATCHES = 512  # scores of ANCHORS × PATCHES stay in the second-level cache (512 KB)
ANCHORS = 256


@numba.njit(nogil=True, cache=True)
def match(features, anchors, out):  # type: ignore[no-untyped-def]
    """Choose the anchor of each feature; equal scores go to the lower index.

    Parameters
    ----------
    features : (d, n) float32
    anchors : (k, d) float32, C-contiguous
    out : (n,) int32
    """
    dims, count = features.shape
    scores = np.empty(ANCHORS * PATCHES, np.float32)
    some = np.empty(dims * PATCHES, np.float32)
    best = np.empty(PATCHES, np.float32)
    for start in range(0, count, PATCHES):
        n = min(PATCHES, count - start)
        block = some[: dims * n].reshape(dims, n)
        block[:] = features[:, start : start + n]
        best[:n] = -1
        for first in range(0, len(anchors), ANCHORS):
            k = min(ANCHORS, len(anchors) - first)
            score = scores[: k * n].reshape(k, n)
            np.dot(anchors[first : first + k], block, score)
            _raise_best(score, first, best, out[start : start + n])


@numba.njit(nogil=True, cache=True, inline="always")
def _raise_best(score, first, best, index):  # type: ignore[no-untyped-def]
    """Raise the running maximum of each column; four rows a pass spare memory traffic."""
    rows, count = score.shape
    whole = rows - rows % 4
    for r in range(0, whole, 4):
        a, b, c, d = score[r], score[r + 1], score[r + 2], score[r + 3]
        i = np.int32(first + r)
        for p in range(count):
            s, w = best[p], index[p]
            t = abs(a[p])
            w = i if t > s else w
            s = t if t > s else s
            t = abs(b[p])
            w = i + np.int32(1) if t > s else w
            s = t if t > s else s
            t = abs(c[p])
            w = i + np.int32(2) if t > s else w
            s = t if t > s else s
            t = abs(d[p])
            w = i + np.int32(3) if t > s else w
            s = t if t > s else s
            best[p] = s
            index[p] = w
    for r in range(whole, rows):
        for p in range(count):
            t = abs(score[r, p])
            if t > best[p]:
                best[p] = t
                index[p] = first + r
