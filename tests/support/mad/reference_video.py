"""ST-MAD in plain NumPy float64: Vu, Vu & Chandler 2011, and the authors' code's behaviour.

No code of ours. A clip is its luma (T, M, N), 0…255; T, M and N are at least 34.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from support.mad import reference as still

HI_SCALE = 10.0
SIDE = 8  # of the blocks whose motion weighs the slices
FIRST = 4  # index of the first slice; the next lies 8 on
ALPHA = 3 / 7


class Motion(NamedTuple):
    """Weights of the column and the row slices, and their sums."""

    columns: np.ndarray
    rows: np.ndarray
    of_columns: float
    of_rows: float


class Score(NamedTuple):
    """What `st_mad` returns."""

    st_mad: float
    smad: float
    tmad: float


def smad(reference, distorted):
    """Spatial part: HI and LO of every frame, their means over the clip, joined otherwise."""
    his, los = [], []
    for one, other in zip(reference, distorted, strict=True):
        his.append(HI_SCALE * still.pooled(still.detection(one, other)))
        los.append(still.pooled(still.appearance(one, other)))
    hi, lo = np.mean(his), np.mean(los)
    sig = still.blend(hi)
    return float(hi ** (sig / 4) + lo ** (1 - sig))


def convolved(plane, kernel):
    """MATLAB's conv2(plane, kernel), full, for a kernel of 2 × 2, without the last row, column."""
    wide = np.pad(plane, ((1, 0), (1, 0)))
    m, n = plane.shape
    shifted = [[wide[1 - i : 1 - i + m, 1 - j : 1 - j + n] for j in range(2)] for i in range(2)]
    return sum(kernel[i][j] * shifted[i][j] for i in range(2) for j in range(2))


def energy(previous, following):
    """u² + v² of each 8 × 8 block: Lucas–Kanade by pseudo-inverse, cut off as MATLAB cuts."""
    cutoff = 2 * np.finfo(np.float64).eps
    m, n = (size // SIDE * SIDE for size in previous.shape)
    previous, following = previous[:m, :n], following[:m, :n]
    both = previous + following
    fx = convolved(both, [[-0.25, 0.25], [-0.25, 0.25]])
    fy = convolved(both, [[-0.25, -0.25], [0.25, 0.25]])
    ft = convolved(following - previous, [[0.25, 0.25], [0.25, 0.25]])
    out = np.empty((m // SIDE, n // SIDE))
    for i, j in np.ndindex(out.shape):
        place = np.s_[SIDE * i : SIDE * (i + 1), SIDE * j : SIDE * (j + 1)]
        a = np.stack([fx[place].ravel(), fy[place].ravel()], axis=1)
        flow = np.linalg.pinv(a.T @ a, rcond=cutoff) @ a.T @ -ft[place].ravel()
        out[i, j] = flow @ flow
    return out


def gausswin(n, alpha=1.2):
    """MATLAB's: σ = (n − 1)/(2·alpha)."""
    away = np.arange(n) - (n - 1) / 2
    return np.exp(-0.5 * (alpha * away / ((n - 1) / 2)) ** 2)


def motion(reference):
    """Weights of the slices: how the reference moves, more in the middle of the picture."""
    mean = np.mean([energy(one, other) for one, other in pairwise(reference)], axis=0)
    weights = []
    for across in (0, 1):
        profile = mean.mean(across)
        window = gausswin(len(profile))
        weights.append(profile**2 * window / window.sum())
    columns, rows = weights
    return Motion(columns, rows, float(columns.sum()), float(rows.sum()))


def strength(weights, total, scores):
    """Of one direction: log10(1000·α + total) · Σ weights·scores / total."""
    return np.log10(1000 * ALPHA + total) * (weights @ scores) / total


def tmad(reference, distorted, weights):
    """Temporal part: LO of column slices (M, T) and row slices (T, N), weighted by motion."""

    def looks(one, other):
        return still.pooled(still.appearance(one, other))

    columns = [
        looks(reference[:, :, j].T, distorted[:, :, j].T)
        for j in FIRST + SIDE * np.arange(len(weights.columns))
    ]
    rows = [
        looks(reference[:, i], distorted[:, i]) for i in FIRST + SIDE * np.arange(len(weights.rows))
    ]
    of_columns = strength(weights.columns, weights.of_columns, np.array(columns))
    of_rows = strength(weights.rows, weights.of_rows, np.array(rows))
    return float(of_rows**ALPHA + of_columns ** (1 - ALPHA))


def joined(spatial, temporal, weights):
    """STMAD of SMAD, TMAD and the share of the rows' motion."""
    beta = np.log10(1 + weights.of_rows / (weights.of_rows + weights.of_columns))
    return float(2.5 * np.log10(beta * spatial) + temporal)


def st_mad(reference, distorted):
    """Score two clips; a reference that does not move has no score (0/0 in the original)."""
    reference, distorted = (np.asarray(clip, np.float64) for clip in (reference, distorted))
    weights = motion(reference)
    spatial = smad(reference, distorted)
    temporal = tmad(reference, distorted, weights)
    return Score(joined(spatial, temporal, weights), spatial, temporal)
