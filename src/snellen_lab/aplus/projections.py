"""The projection matrices of A+: for each anchor, ridge regression on its nearest samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool
from snellen_lab.aplus.samples import Samples

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]

ANCHORS = 256  # anchors of a task; scores of ANCHORS × STRIP fit the L2 cache (512 KB)
STRIP = 512  # features of one matrix product


def learn(
    samples: Samples,
    anchors: Float32,
    *,
    neighbours: int,
    ridge: float,
    pool: Pool,
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
    pool : Pool
        The caller limits BLAS to one thread meanwhile.
    progress : callable, optional
        Called with the share that is done, 0 … 1.
    """
    from scipy.linalg import solve  # takes long to import, and settings are here, too

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


def nearest(features: Float32, anchors: Float32, count: int, pool: Pool) -> Int32:
    """Return the indices of the `count` features nearest to each anchor by Euclidean distance.

    |a − x|² = |a|² − 2 (a·x − |x|²/2), so the nearest features have the largest a·x − |x|²/2. Where
    the last of them tie, those of lower index are taken.

    Parameters
    ----------
    features : (n, d) float32
        At least `count` of them.
    anchors : (k, d) float32

    Returns
    -------
    (k, count) int32
        Each row ascending.
    """
    half = np.einsum("nd,nd->n", features, features) / 2
    out = np.empty((len(anchors), count), np.int32)

    def block(first: int) -> None:
        mine, chosen = anchors[first : first + ANCHORS], out[first : first + ANCHORS]
        scores = np.empty(chosen.shape, np.float32)
        for start in range(0, len(features), STRIP):
            product = mine @ features[start : start + STRIP].T
            _keep(product, half[start : start + STRIP], start, scores, chosen)
        chosen.sort(axis=1)

    for _ in pool.map(block, range(0, len(anchors), ANCHORS)):
        pass
    return out


@compiled
def _keep(product, half, start, scores, index):  # type: ignore[no-untyped-def]
    """Keep those features of a strip that are among the best so far.

    Parameters
    ----------
    product : (k, n) float32
        Inner products of the anchors with features start … start + n − 1.
    half : (n,) float32
        |x|²/2 of these features.
    scores, index : (k, count)
        The best so far, updated. Each row is a heap: an element is worse than those at twice its
        position + 1 and + 2, so the first one is the worst of all.
    """
    count = scores.shape[1]
    for k in range(product.shape[0]):
        score, feature = scores[k], index[k]
        for p in range(product.shape[1]):
            new, at, filled = product[k, p] - half[p], start + p, min(start + p, count)
            if filled < count:  # it rises from the end
                place = filled
                while place > 0:
                    above = (place - 1) // 2
                    if score[above] < new:
                        break
                    score[place], feature[place] = score[above], feature[above]
                    place = above
                score[place], feature[place] = new, at
            elif new > score[0]:  # it replaces the worst, and sinks
                place = 0
                while 2 * place + 1 < count:
                    below = 2 * place + 1
                    other = below + 1
                    if other < count and (
                        score[other] < score[below]
                        or (score[other] == score[below] and feature[other] > feature[below])
                    ):
                        below = other
                    if score[below] > new:
                        break
                    score[place], feature[place] = score[below], feature[below]
                    place = below
                score[place], feature[place] = new, at
