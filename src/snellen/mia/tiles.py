"""Division of pictures into overlapping tiles, and their blending without seams.

The functions take NumPy or CuPy arrays and return arrays of the same library.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.axes import Axes
from snellen.frames.luma import Codes
from snellen.mia.settings import whole

Float64 = npt.NDArray[np.float64]


class Tiles:
    """A grid of tiles that cover pictures of one shape, by the side of the tiles and K, of the PSF.

    A narrower picture has tiles of its own width. Neighbours overlap by 2 (K − 1) samples, but at
    most by half a tile. A tile is less accurate within K // 2 samples of its edge; there only its
    neighbour counts. In the middle half of the overlap, a raised cosine blends the two. On a GPU
    one kernel cuts all tiles and one blends them (cuda/tiles.py); they round as NumPy does, so that
    results have the same bits. InputError: `tile` is smaller than the PSF, or not an integer.

    Attributes
    ----------
    picture, shape : (int, int)
        Rows and columns of the pictures, and of a tile.
    grid : (int, int)
        Number of tiles down and across.
    lines : (…, …)
        Of the rows, then of the columns: where the tiles begin, and the weights of their samples.
    """

    def __init__(self, shape: tuple[int, int], tile: int, side: int):
        tile = whole("tile", tile)
        if tile < side:
            raise InputError(
                f"`tile`={tile!r} with a PSF of {side}×{side}; expected {side} or more",
                parameter="tile",
                advice=f"take larger tiles, {4 * side} pixels or more for good results",
            )
        overlap = min(2 * (side - 1), tile // 2)
        self.lines = tuple(_line(size, min(tile, size), overlap) for size in shape)
        self.picture = shape
        self.shape = min(tile, shape[0]), min(tile, shape[1])
        self.grid = len(self.lines[0][0]), len(self.lines[1][0])

    def split(self, planes: Any) -> Any:
        """Return the tiles of planes (N, M, rows, columns): (N · tiles, M, …), in row order."""
        if not isinstance(planes, np.ndarray):
            return self.on_gpu(planes.dtype.name).split(planes)
        (tops, _), (lefts, _) = self.lines
        rows, columns = self.shape
        parts = [
            planes[..., top : top + rows, left : left + columns] for top in tops for left in lefts
        ]
        stack = np.stack(parts, 1)
        return stack.reshape(-1, planes.shape[1], rows, columns)

    def merge(self, tiles: Any) -> Any:
        """Return the pictures (N, rows, columns) blended from restored tiles (N · tiles, …)."""
        if not isinstance(tiles, np.ndarray):
            return self.on_gpu(tiles.dtype.name).merge(tiles)
        down, across = self.grid
        tiles = tiles.reshape(-1, down, across, *self.shape)
        out = np.zeros((len(tiles), *self.picture), tiles.dtype)
        (tops, vertical), (lefts, horizontal) = self.lines
        rows, columns = self.shape
        for i, j in np.ndindex(down, across):
            weight = np.outer(vertical[i], horizontal[j]).astype(tiles.dtype)
            region = (..., slice(tops[i], tops[i] + rows), slice(lefts[j], lefts[j] + columns))
            out[region] += weight * tiles[:, i, j]
        return out

    def on_gpu(self, dtype: str, given: Codes | None = None, made: Codes | None = None) -> Any:
        """Return the `cuda.tiles.Cutter` of this grid on the current GPU, with its other settings.

        Its tiles are floats of this type. Planes are, too, but those of code values: `given` are
        cut, `made` are blended.
        """
        from snellen.mia.cuda.tiles import Cutter

        return Cutter(self.picture, self.shape, self.lines, dtype, given, made)


def psf_axes(axes: Axes, tiles: Tiles | None) -> tuple[int, ...]:
    """Return the axes of all PSFs before their rows and columns: batch, tiles, frames."""
    return (*axes.batch, *(tiles.grid if tiles else ()), *axes.frames)


def each(psf: Float64, axes: Axes, tiles: Tiles | None) -> Float64:
    """Return given PSFs, one for each picture, tile and frame: (N · tiles, M, K, K).

    InputError: their axes do not match those of the pictures.
    """
    lead, side = psf_axes(axes, tiles), psf.shape[-1]
    try:
        every = np.broadcast_to(psf, (*lead, side, side))
    except ValueError as error:
        raise InputError(
            f"`psf` has shape {psf.shape}; expected {(side, side)}"
            + (f" or {(*lead, side, side)}" if lead else ""),
            parameter="psf",
        ) from error
    return every.reshape(-1, prod(axes.frames), side, side)


def _line(size: int, tile: int, overlap: int) -> tuple[list[int], list[Float64]]:
    """Return the first samples of evenly spaced tiles of a line, and their weights (sum 1)."""
    count = 1 if size == tile else -(-(size - overlap) // (tile - overlap))
    firsts = [round(i * (size - tile) / max(count - 1, 1)) for i in range(count)]
    at = np.arange(size) + 0.5
    passed = [np.ones(size)]  # weight of each tile and all after it
    for one, other in pairwise(firsts):
        middle, width = (other + one + tile) / 2, max(1, overlap // 2)
        ramp = np.clip((at - middle) / width + 0.5, 0, 1)
        passed.append(0.5 - 0.5 * np.cos(np.pi * ramp))
    passed.append(np.zeros(size))
    weights = [one - other for one, other in pairwise(passed)]
    return firsts, [
        weight[first : first + tile] for first, weight in zip(firsts, weights, strict=True)
    ]
