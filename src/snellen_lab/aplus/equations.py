"""Projections of models of format 2: ridge regression on all samples of a cell.

A cell is a class of strength of an anchor. Its normal equations are summed as samples come.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

PARTS = 16  # of the cells, for threads


class Equations:
    """The normal equations of all cells: an anchor and a class of strength each.

    Parameters
    ----------
    anchors, classes, dims, patch : int
        Sizes: anchors, classes of an anchor, dimensions of a feature, samples of a patch.
    """

    def __init__(self, anchors: int, classes: int, dims: int, patch: int):
        self.anchors, self.classes = anchors, classes
        self.grams = np.zeros((anchors * classes, dims, dims))
        self.rights = np.zeros((anchors * classes, dims, patch))

    def add(self, features: Float32, patches: Float32, cells: Int32, pool: Pool) -> None:
        """Add samples (n, d) and (n, p), whose cells are (n,). Each cell adds its own in order."""
        order = np.argsort(cells, kind="stable")
        bounds = np.linspace(0, len(self.grams), PARTS + 1).astype(int)
        cuts = np.searchsorted(cells[order], bounds)

        def part(number: int) -> None:
            mine = order[cuts[number] : cuts[number + 1]]
            _add(features, patches, mine, cells, self.grams, self.rights)

        for _ in pool.map(part, range(PARTS)):
            pass

    @property
    def whole(self) -> Float64:
        """The Gram matrices of all cells, of which the upper triangles were summed."""
        upper = np.triu(self.grams)
        found: Float64 = upper + np.triu(upper, 1).swapaxes(1, 2)
        return found

    def solved(self, ridge: float, class_ridge: float) -> Float32:
        """Return the projections, (cells, p, d).

        Each anchor's is drawn towards that of all samples by `ridge`, and those of its classes
        towards the anchor's by `class_ridge`.
        """
        grams = self.whole
        shape = (self.anchors, self.classes)
        by_anchor = grams.reshape(*shape, *grams.shape[1:]).sum(axis=1)
        rights = self.rights.reshape(*shape, *self.rights.shape[1:]).sum(axis=1)
        nothing = np.zeros(self.rights.shape[1:])
        whole = _ridge(by_anchor.sum(axis=0), rights.sum(axis=0), ridge, nothing)
        anchors = _ridge(by_anchor, rights, ridge, whole)
        drawn = np.repeat(anchors, self.classes, axis=0)
        found = _ridge(grams, self.rights, class_ridge, drawn)
        return np.ascontiguousarray(found.swapaxes(1, 2), np.float32)


def _ridge(grams: Float64, rights: Float64, ridge: float, towards: Float64) -> Float64:
    """Return the x that minimise |Ax − b|² + ridge·|x − towards|², by AᵀA and Aᵀb."""
    damping = ridge * np.eye(grams.shape[-1])
    return np.linalg.solve(grams + damping, rights + ridge * towards).astype(np.float64)


@compiled
def _add(features, patches, order, cells, grams, rights):  # type: ignore[no-untyped-def]
    """Add samples in an order; of a Gram matrix the upper triangle only."""
    dims, size = features.shape[1], patches.shape[1]
    for n in range(order.shape[0]):
        i = order[n]
        feature, patch = features[i], patches[i]
        gram, right = grams[cells[i]], rights[cells[i]]
        for k in range(dims):
            value = np.float64(feature[k])
            row, sums = gram[k], right[k]
            for j in range(k, dims):
                row[j] += value * feature[j]
            for j in range(size):
                sums[j] += value * patch[j]
