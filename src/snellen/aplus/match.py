"""Step 5a of A+: find the anchor of each feature, argmax over all anchors of |anchor · feature|."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.blas import sgemm, sgemv
from snellen.cpu.compiled import compiled

# Size of one matrix product. Up to 10⁶ multiply-adds (here with up to 32 dimensions), OpenBLAS does
# not pack the matrices and reaches 107 instead of 85 GFLOP/s a core. The scores of 480 patches and
# 1024 anchors (2 MB) stay in the caches.
ANCHORS = 64
PATCHES = 480
GROUP = 8  # anchors whose scores are compared in registers between two accesses to memory


FACTORS = np.array([1, 0], np.float32)  # of BLAS: α and β
LETTERS = np.frombuffer(b"NT", np.uint8)  # of BLAS: a matrix as it is, or transposed

Float32 = npt.NDArray[np.float32]


def match(features: Float32, anchors: Float32, out: npt.NDArray[np.int32]) -> None:
    """Choose the anchor of each feature; where scores are equal, the one of the lower index.

    Parameters
    ----------
    features : (d, n) float32
        One column for each patch.
    anchors : (k, d) float32
        Unit norm.
    out : (n,) int32
        Index of each patch's anchor.
    """
    count, dims = anchors.shape
    _match(
        np.ascontiguousarray(features), np.ascontiguousarray(anchors), FACTORS, LETTERS,
        np.empty((dims, PATCHES), np.float32), np.empty((count, PATCHES), np.float32),
        np.empty(PATCHES, np.float32), np.empty(PATCHES, np.int32), np.empty(5, np.int32), out,
    )  # fmt: skip


@compiled
def _match(features, anchors, factors, letters, block, score, best, group, sizes, out):  # type: ignore[no-untyped-def]
    """Choose the anchors; `block` to `sizes` are scratch: what BLAS reads must have an address."""
    dims, count, total = features.shape[0], features.shape[1], anchors.shape[0]
    one, zero = factors.ctypes.data, factors.ctypes.data + 4
    plain, transposed = letters.ctypes.data, letters.ctypes.data + 1
    size = sizes.ctypes.data
    patches, rows, depth, pitch, unit = size, size + 4, size + 8, size + 12, size + 16
    sizes[2], sizes[3], sizes[4] = dims, PATCHES, 1
    for start in range(0, count, PATCHES):
        n = min(PATCHES, count - start)
        for k in range(dims):
            feature, copied = features[k][start:], block[k]
            for p in range(n):
                copied[p] = feature[p]
        for p in range(n):
            best[p] = -1
            group[p] = 0
        for first in range(0, total, ANCHORS):
            some = min(ANCHORS, total - first)
            sizes[0], sizes[1] = n, some
            left = anchors.ctypes.data + 4 * first * dims
            right = block.ctypes.data
            into = score.ctypes.data + 4 * first * PATCHES
            if n == 1:
                sgemv(transposed, depth, rows, one, left, depth, right, pitch, zero, into, pitch)
            elif some == 1:
                sgemv(plain, patches, depth, one, right, pitch, left, unit, zero, into, unit)
            else:
                sgemm(plain, plain, patches, rows, depth, one, right, pitch, left, depth, zero,
                      into, pitch)  # fmt: skip
            # Update the greatest |score|, and the first anchor of the group that has it.
            end = first + some
            grouped = end - some % GROUP
            for r in range(first, grouped, GROUP):
                a, b, c, d = score[r], score[r + 1], score[r + 2], score[r + 3]
                e, f, g, h = score[r + 4], score[r + 5], score[r + 6], score[r + 7]
                anchor = np.int32(r)
                for p in range(n):
                    s = max(max(abs(a[p]), abs(b[p])), max(abs(c[p]), abs(d[p])))
                    t = max(max(abs(e[p]), abs(f[p])), max(abs(g[p]), abs(h[p])))
                    s = max(s, t)
                    old = best[p]
                    best[p] = s if s > old else old
                    group[p] = anchor if s > old else group[p]
            for r in range(grouped, end):
                for p in range(n):
                    s = abs(score[r, p])
                    if s > best[p]:
                        best[p] = s
                        group[p] = r
        for p in range(n):
            i = group[p]
            while i < total - 1 and abs(score[i, p]) != best[p]:
                i += 1
            out[start + p] = i
