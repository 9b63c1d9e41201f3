"""Step 5a of A+: find the anchor of each feature, argmax over all anchors of |anchor · feature|."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled

# Size of one matrix product. Up to 10⁶ multiply-adds (here with up to 32 dimensions), OpenBLAS does
# not pack the matrices and reaches 107 instead of 85 GFLOP/s a core. The scores of 480 patches and
# 1024 anchors (2 MB) stay in the caches.
ANCHORS = 64
PATCHES = 480
GROUP = 8  # anchors whose scores are compared in registers between two accesses to memory


@compiled
def match(features, anchors, out):  # type: ignore[no-untyped-def]
    """Choose the anchor of each feature; where scores are equal, the one of the lower index.

    Parameters
    ----------
    features : (d, n) float32
        One column for each patch.
    anchors : (k, d) float32, C-contiguous
        Unit norm.
    out : (n,) int32
        Index of each patch's anchor.
    """
    dims, count = features.shape
    copied = np.empty(dims * PATCHES, np.float32)
    scores = np.empty(len(anchors) * PATCHES, np.float32)
    best = np.empty(PATCHES, np.float32)
    group = np.empty(PATCHES, np.int32)
    for start in range(0, count, PATCHES):
        n = min(PATCHES, count - start)
        block = copied[: dims * n].reshape(dims, n)
        block[:] = features[:, start : start + n]
        score = scores[: len(anchors) * n].reshape(len(anchors), n)
        best[:] = -1
        group[:] = 0
        for first in range(0, len(anchors), ANCHORS):
            part = score[first : first + ANCHORS]
            np.dot(anchors[first : first + ANCHORS], block, part)
            _raise_best(part, first, best[:n], group[:n])
        for p in range(n):
            i = group[p]
            while i < len(score) - 1 and abs(score[i, p]) != best[p]:
                i += 1
            out[start + p] = i


@compiled
def _raise_best(score, offset, best, group):  # type: ignore[no-untyped-def]
    """Update the greatest |score| of each patch, and the first anchor of the group that has it.

    Parameters
    ----------
    score : (rows, n) float32
        Scores of the anchors from index `offset` on.
    best : (n,) float32
        Greatest |score| so far.
    group : (n,) int32
        Index of the first anchor of the group in which `best` was found.
    """
    rows, count = score.shape
    for r in range(0, rows - rows % GROUP, GROUP):
        a, b, c, d = score[r], score[r + 1], score[r + 2], score[r + 3]
        e, f, g, h = score[r + 4], score[r + 5], score[r + 6], score[r + 7]
        first = np.int32(offset + r)
        for p in range(count):
            s = max(max(abs(a[p]), abs(b[p])), max(abs(c[p]), abs(d[p])))
            t = max(max(abs(e[p]), abs(f[p])), max(abs(g[p]), abs(h[p])))
            s = max(s, t)
            old = best[p]
            best[p] = s if s > old else old
            group[p] = first if s > old else group[p]
    for r in range(rows - rows % GROUP, rows):
        for p in range(count):
            s = abs(score[r, p])
            if s > best[p]:
                best[p] = s
                group[p] = offset + r
