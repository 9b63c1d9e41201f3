"""Both backends compute this: three planes through a LUT, as numbers that both of them use.

Chroma goes to every luma sample and back, along an axis: exactly back, where nothing is between.
Up is linear interpolation at the positions that the siting says. Down is its dual filter: the two
are the low-pass filters of a biorthogonal wavelet (Cohen, Daubechies, Feauveau 1992), LeGall's 5/3
where chroma lies on luma samples and their 3/1 where it lies between two. So chroma that a LUT does
not change returns unchanged, without a blur; and what a LUT makes grey has no fringes left. Beyond
the edge samples are mirrored. Chroma on the second of two rows has a last sample beyond the edge
where the number of rows is odd: that is taken to lie on the last row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from snellen.filters.lut.cube import Cube
from snellen.frames.coding import Matrix, from_rgb, to_rgb
from snellen.frames.frame import Format

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


@dataclass(slots=True, eq=False)
class Planes:
    """A LUT for frames of one format."""

    cube: Cube
    matrix: Matrix
    source: Format
    """The format of the frames to come, with chroma."""
    target: Format
    """The format of the results: the source's, perhaps at another depth."""
    table: Float32 = field(init=False)
    """(entries, 3): those of the cube."""
    size: int = field(init=False)
    """Entries along each axis."""
    dimensions: int = field(init=False)
    """1 or 3."""
    to_index: Float32 = field(init=False)
    """(3, 4): places in the table, by red, green and blue, of code values (Y, Cb, Cr, 1)."""
    from_rgb: Float32 = field(init=False)
    """(3, 4): code values Y, Cb and Cr of (red, green, blue, 1)."""
    slack: Float32 = field(init=False)
    """(3): half a code value of luma as a distance in the table. Colours that are no farther beyond
    its ends are not counted as clipped."""
    most: int = field(init=False)
    """Greatest code value of the results."""
    halved: tuple[int, int] = field(init=False)
    """log2 of luma samples to chroma samples, across and down: 0 or 1."""
    across: Axis = field(init=False)
    """The axis of chroma across columns."""
    down: Axis = field(init=False)
    """The axis of chroma down rows."""

    def __post_init__(self) -> None:
        cube, source = self.cube, self.source
        assert source.subsampling is not None
        self.table = np.ascontiguousarray(cube.table.reshape(-1, 3))
        self.size, self.dimensions = cube.size, cube.dimensions
        low, high = np.array(cube.low), np.array(cube.high)
        scale = (self.size - 1) / (high - low)
        index = to_rgb(self.matrix, source) * scale[:, None]
        index[:, 3] -= low * scale
        self.to_index = index.astype(np.float32)
        self.from_rgb = from_rgb(self.matrix, self.target).astype(np.float32)
        self.slack = (index[:, 0] / 2).astype(np.float32)
        self.most = (1 << self.target.bits) - 1
        self.halved = source.subsampling
        self.across = axis(source.width, self.halved[0] > 0, source.siting[0])
        self.down = axis(source.height, self.halved[1] > 0, source.siting[1])
