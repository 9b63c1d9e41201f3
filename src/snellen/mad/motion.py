"""How a clip moves, and the weights that ST-MAD gives the slices through it for that.

Lucas–Kanade: for each block of 8 × 8 pixels the flow (u, v) is the least squares solution of
A·(u, v) = −ft, the rows of A being (fx, fy) of its pixels. A block's motion is u² + v², its mean
over the clip's pairs of frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool

SIDE = 8  # of a block; ST-MAD also takes every 8th slice, one for each row or column of blocks
RANK = 2 * float(np.finfo(np.float64).eps)  # pinv's tolerance for 2 × 2, in units of the norm
SHARPNESS = 1.2  # alpha of the authors' gausswin; larger values concentrate on the middle

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Motion:
    """Weights of the slices, not normalised; motion and the middle of the picture weigh more."""

    columns: Float64
    """Weights of the column slices (time × height), left to right."""
    rows: Float64
    """Weights of the row slices (time × width), top to bottom."""

    @property
    def of_columns(self) -> float:
        """Sum of the columns' weights."""
        return float(self.columns.sum())

    @property
    def of_rows(self) -> float:
        """Sum of the rows' weights."""
        return float(self.rows.sum())


def motion(frames: Iterable[npt.NDArray[Any]]) -> Motion:
    """Return the weights of a clip's slices; all are 0 if nothing moves.

    At least two frames (M, N) of one type, of any scale, since it cancels; integers are exact.
    """
    total, pairs = np.zeros((0, 0)), 0
    with Pool(threads.available()) as pool:
        for previous, following in pairwise(frames):
            if not pairs:
                m, n = previous.shape
                total = np.zeros((m // SIDE, n // SIDE))
            add_energy(previous, following, total, pool)
            pairs += 1
    return weights(total / pairs)


def weights(energy: Float64) -> Motion:
    """Return the weights for the mean motion of each block.

    A column's weight is the square of its blocks' mean, times a Gaussian over the columns that
    sums to 1; so is a row's.
    """
    columns, rows = energy.mean(0), energy.mean(1)
    return Motion(columns**2 * gaussian(len(columns)), rows**2 * gaussian(len(rows)))


def gaussian(n: int) -> Float64:
    """Return MATLAB's gausswin(n, 1.2), whose σ is (n − 1)/2.4, divided by its sum."""
    away = np.arange(n) - (n - 1) / 2
    window = np.exp(-0.5 * (SHARPNESS * away / ((n - 1) / 2)) ** 2)
    return np.asarray(window / window.sum())


def add_energy(
    previous: npt.NDArray[Any], following: npt.NDArray[Any], total: Float64, pool: Pool
) -> None:
    """Add the motion of each block between two frames to `total` (⌊M/8⌋, ⌊N/8⌋)."""
    previous, following = (np.ascontiguousarray(one) for one in (previous, following))
    share = -(-len(total) // threads.available())
    strips = (range(i, min(i + share, len(total))) for i in range(0, len(total), share))
    list(pool.map(lambda rows: _strip(previous, following, rows.start, rows.stop, total), strips))


@compiled
def _strip(previous, following, first, last, total):  # type: ignore[no-untyped-def]
    """Add u² + v² of the blocks of rows first … last − 1."""
    # The derivatives are full convolutions of the two frames' sum, for time of their difference,
    # with 2 × 2 signs: what lies above and left of the frame counts as 0. The authors' factor 0.25
    # of all three cancels, and without it those of integer samples are integers.
    for block in range(first, last):
        for column in range(total.shape[1]):
            xx = xy = yy = xt = yt = 0.0
            for i in range(SIDE * block, SIDE * (block + 1)):
                # Samples of the pixel to the left, and of the one above that, in both frames.
                old = new = old_above = new_above = 0.0
                if column:
                    j = SIDE * column - 1
                    old, new = np.float64(previous[i, j]), np.float64(following[i, j])
                    if i:
                        old_above = np.float64(previous[i - 1, j])
                        new_above = np.float64(following[i - 1, j])
                for j in range(SIDE * column, SIDE * (column + 1)):
                    before, after = np.float64(previous[i, j]), np.float64(following[i, j])
                    before_above = after_above = 0.0
                    if i:
                        before_above = np.float64(previous[i - 1, j])
                        after_above = np.float64(following[i - 1, j])
                    above_left, left = old_above + new_above, old + new
                    above, here = before_above + after_above, before + after
                    fx = (above_left + left) - (above + here)
                    fy = (above_left + above) - (left + here)
                    ft = after_above - before_above + after - before
                    ft += new_above - old_above + new - old
                    xx += fx * fx
                    xy += fx * fy
                    yy += fy * fy
                    xt += fx * ft
                    yt += fy * ft
                    old, new, old_above, new_above = before, after, before_above, after_above
            total[block, column] += _squared_flow(xx, xy, yy, xt, yt)


@compiled
def _squared_flow(xx, xy, yy, xt, yt):  # type: ignore[no-untyped-def]
    """Return |pinv(AᵀA)·Aᵀ·ft|² for AᵀA = [xx xy; xy yy] and Aᵀ·ft = (xt, yt)."""
    # MATLAB's pinv takes a singular value for 0 that is at most 2·eps times the largest, here
    # `norm`; the other one is det / norm. Of a block with edges of one direction only (the aperture
    # problem) AᵀA has rank 1, and then pinv is AᵀA / norm². The sums of integer samples are exact,
    # for 8 bits det too; its rounding, at most eps/4 · norm², is well within the rule.
    norm = 0.5 * (xx + yy + np.hypot(xx - yy, 2 * xy))
    if norm == 0:
        return 0.0
    det = xx * yy - xy * xy
    if det > RANK * norm * norm:
        u, v = (yy * xt - xy * yt) / det, (xx * yt - xy * xt) / det
    else:
        u, v = (xx * xt + xy * yt) / (norm * norm), (xy * xt + yy * yt) / (norm * norm)
    return u * u + v * v
