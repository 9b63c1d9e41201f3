"""The projection matrices of A+: for each anchor, ridge regression on its nearest samples."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve

from snellen.aplus.training.samples import Samples
from snellen.cpu.compiled import compiled

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]

ANCHORS = 256  # anchors of a task; scores of ANCHORS × STRIP fit the L2 cache (512 KB)
STRIP = 512  # features of one matrix product
CAPACITY = 4  # candidates that an anchor collects before they are sorted, per neighbour wanted


def learn(
    samples: Samples,
    anchors: Float32,
    *,
    neighbours: int,
    ridge: float,
    pool: ThreadPoolExecutor,
    progress: Callable[[float], None] = lambda done: None,
) -> Float32:
    """Return the projections P = H Lᵀ (L Lᵀ + λI)⁻¹, (k, (w·s)², d) float32.

    Parameters
    ----------
    samples : Samples
        The features and patches nearest to an anchor are the columns of its L and H.
    anchors : (k, d) float32
        Unit norm.
    neighbours : int
        Number of samples for each anchor.
    ridge : float
        λ.
    pool : ThreadPoolExecutor
        The caller limits BLAS to one thread meanwhile.
    progress : callable, optional
        Called with the share that is done, 0 … 1.
    """
    count, dims = anchors.shape
    out = np.empty((count, samples.patches.shape[1], dims), np.float32)
    damping = ridge * np.eye(dims)

    def one(job: tuple[int, Int32]) -> None:
        k, chosen = job
        low = samples.features[chosen].astype(np.float64)
        high = samples.patches[chosen].astype(np.float64)
        out[k] = solve(low.T @ low + damping, low.T @ high, assume_a="pos").T

    near = nearest(samples.features, anchors, neighbours, pool)
    for k, _ in enumerate(pool.map(one, enumerate(near))):
        progress((k + 1) / count)
    return out


def nearest(features: Float32, anchors: Float32, count: int, pool: ThreadPoolExecutor) -> Int32:
    """Return the indices of the `count` features nearest to each anchor by Euclidean distance.

    |a − x|² = |a|² − 2 (a·x − |x|²/2), so the nearest features have the largest a·x − |x|²/2. Where
    the last of them tie, those of lower index are taken.

    Parameters
    ----------
    features : (n, d) float32
        At least `count` of them.
    anchors : (k, d) float32
    count : int
    pool : ThreadPoolExecutor

    Returns
    -------
    (k, count) int32
        Each row ascending.
    """
    half = np.einsum("nd,nd->n", features, features) / 2
    out = np.empty((len(anchors), count), np.int32)

    def block(start: int) -> None:
        part = slice(start, start + ANCHORS)
        _nearest(features, half, anchors[part], out[part])

    for _ in pool.map(block, range(0, len(anchors), ANCHORS)):
        pass
    return out


@compiled
def _nearest(features, half, anchors, out):  # type: ignore[no-untyped-def]
    """Write the nearest features of a block of anchors; `half` holds |x|²/2 of each feature."""
    anchor_count, count = out.shape
    capacity = CAPACITY * count
    scores = np.empty((anchor_count, capacity), np.float32)
    index = np.empty((anchor_count, capacity), np.int32)
    filled = np.zeros(anchor_count, np.int64)
    threshold = np.full(anchor_count, -np.inf, np.float32)
    for start in range(0, len(features), STRIP):
        product = np.dot(anchors, features[start : start + STRIP].T)
        for k in range(anchor_count):
            m, least = filled[k], threshold[k]
            for p in range(product.shape[1]):
                score = product[k, p] - half[start + p]
                if score > least:
                    scores[k, m] = score
                    index[k, m] = start + p
                    m += 1
                    if m == capacity:
                        least = _select(scores[k], index[k], m, count)
                        m = count
            filled[k], threshold[k] = m, least
    for k in range(anchor_count):
        _select(scores[k], index[k], filled[k], count)
        out[k] = index[k, :count]


@compiled
def _select(scores, index, filled, count):  # type: ignore[no-untyped-def]
    """Move the best `count` candidates to the front, in their order; return their least score."""
    least = np.sort(scores[:filled])[filled - count]
    ties = count
    for m in range(filled):
        if scores[m] > least:
            ties -= 1
    selected = 0
    for m in range(filled):
        if scores[m] > least or (scores[m] == least and ties > 0):
            if scores[m] == least:
                ties -= 1
            scores[selected] = scores[m]
            index[selected] = index[m]
            selected += 1
    return least
