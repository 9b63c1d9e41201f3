"""Anchors of models of format 2: k-means of features on the sphere, where x and −x are the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from snellen.aplus.match import match
from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool

Float32 = npt.NDArray[np.float32]

PART = 1 << 15  # features that a thread matches at a time


def clusters(
    features: Float32,
    count: int,
    *,
    iterations: int,
    seed: int,
    pool: Pool,
    progress: Callable[[float], None] = lambda done: None,
) -> Float32:
    """Return `count` unit vectors, (count, d) float32: each the mean direction of its features.

    Parameters
    ----------
    features : (n, d) float32
        None is 0. A feature weighs the square root of its norm.
    seed : int
        Of the features with which the clusters begin, and of those that replace an empty one.
    pool : Pool
        The caller limits BLAS to one thread meanwhile.
    progress : callable, optional
        Called with the share that is done, 0 … 1.
    """
    random = np.random.default_rng(seed)
    norms = np.linalg.norm(features, axis=1)
    units = features / norms[:, None]
    weights = np.sqrt(norms).astype(np.float32)
    share = weights / weights.sum(dtype=np.float64)
    anchors: Float32 = units[random.choice(len(units), count, replace=len(units) < count, p=share)]
    for iteration in range(iterations):
        index = nearest(units, anchors, pool)
        sums = np.zeros(anchors.shape)
        _add(units, weights, anchors, index, sums)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        empty = lengths[:, 0] == 0
        sums[empty] = units[random.integers(len(units), size=np.count_nonzero(empty))]
        lengths[empty] = 1
        anchors = (sums / lengths).astype(np.float32)
        progress((iteration + 1) / iterations)
    return anchors


def nearest(features: Float32, anchors: Float32, pool: Pool) -> npt.NDArray[np.int32]:
    """Return the anchor of each feature (n, d), (n,) int32."""
    index = np.empty(len(features), np.int32)

    def part(start: int) -> None:
        match(features[start : start + PART].T, anchors, index[start : start + PART])

    for _ in pool.map(part, range(0, len(features), PART)):
        pass
    return index


@compiled
def _add(units, weights, anchors, index, sums):  # type: ignore[no-untyped-def]
    """Add weighted features to the sums of their anchors, each with the sign that it has there."""
    dims = units.shape[1]
    for i in range(units.shape[0]):
        unit, anchor, total = units[i], anchors[index[i]], sums[index[i]]
        product = np.float32(0)
        for k in range(dims):
            product += unit[k] * anchor[k]
        weight = weights[i] if product >= 0 else -weights[i]
        for k in range(dims):
            total[k] += weight * unit[k]
