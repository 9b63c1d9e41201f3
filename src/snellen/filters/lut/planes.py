"""Both backends compute this: three planes through a LUT, as numbers that both of them use."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from snellen.filters.lut.chroma import Axis, axis
from snellen.filters.lut.coding import Matrix, from_rgb, to_rgb
from snellen.filters.lut.cube import Cube
from snellen.frames.frame import Format

Float32 = npt.NDArray[np.float32]


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
