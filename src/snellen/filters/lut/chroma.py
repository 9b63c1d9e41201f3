"""Chroma at every luma sample, and back, along an axis: exactly back, where nothing is between.

Up is linear interpolation at the positions that the siting says. Down is its dual filter: the two
are the low-pass filters of a biorthogonal wavelet (Cohen, Daubechies, Feauveau 1992), LeGall's 5/3
where chroma lies on luma samples and their 3/1 where it lies between two. So chroma that a LUT does
not change returns unchanged, without a blur; and what a LUT makes grey has no fringes left. Beyond
the edge samples are mirrored. Chroma on the second of two rows has a last sample beyond the edge
where the number of rows is odd: that is taken to lie on the last row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Float32 = npt.NDArray[np.float32]

_ON = np.array([-1, 2, 6, 2, -1]) / 8
"""Taps around a luma sample on which chroma lies."""
_BETWEEN = np.array([-1, 3, 3, -1]) / 4
"""Taps around two luma samples, between which it lies."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """How luma samples and chroma samples of an axis belong together."""

    near: Int32
    """(luma samples, 2): the chroma samples on either side of a luma sample."""
    part: Float32
    """(luma samples): how much of the second one it has."""
    taps: Int32
    """(chroma samples, taps): the luma samples that make a chroma sample."""
    weights: Float32
    """(taps): how much of each."""


def axis(luma: int, halved: bool, siting: float) -> Axis:
    """Return the axis of a format.

    Parameters
    ----------
    luma : int
        Luma samples.
    halved : bool
        Whether there are half as many of chroma.
    siting : float
        Where a chroma sample lies in its two luma samples, see `Format.siting`: 0.25, 0.5 or 0.75;
        others are taken for the nearest of these.
    """
    samples = np.arange(luma)
    if not halved:
        near = np.stack([samples, samples], axis=1)
        return _axis(near, np.zeros(luma), samples[:, None], np.ones(1))
    chroma = -(-luma // 2)
    place = (siting > 0.375) + (siting > 0.625)  # on the first of two, between them, on the second
    position = (samples - place / 2) / 2  # in chroma samples
    first = np.floor(position).astype(int)
    near = np.clip(np.stack([first, first + 1], axis=1), 0, chroma - 1)
    weights = _BETWEEN if place == 1 else _ON
    begin = 2 * np.arange(chroma) + (-2, -1, -1)[place]
    taps = _mirrored(begin[:, None] + np.arange(len(weights)), luma, place == 1)
    part = position - first
    if place == 2 and luma % 2:
        near[-1], part[-1], taps[-1] = chroma - 1, 0, luma - 1
        taps[-2:-1, -2:] = luma - 2  # nothing of the last row, so that the other ones weigh 1
    return _axis(near, part, taps, weights)


def _mirrored(index: npt.NDArray[np.int_], count: int, between: bool) -> npt.NDArray[np.int_]:
    """Return indices mirrored at the edges: at the outermost samples, or beside them."""
    index = np.where(index < 0, -index - between, index)
    index = np.where(index >= count, 2 * (count - 1) - index + between, index)
    return np.clip(index, 0, count - 1)  # of a tiny plane


def _axis(
    near: npt.NDArray[np.int_],
    part: npt.NDArray[np.float64],
    taps: npt.NDArray[np.int_],
    weights: npt.NDArray[np.float64],
) -> Axis:
    return Axis(
        np.ascontiguousarray(near, np.int32),
        part.astype(np.float32),
        np.ascontiguousarray(taps, np.int32),
        weights.astype(np.float32),
    )
