"""Tiles on a GPU: cut out of planes and blended into planes, each by one kernel of tiles.cu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import upload
from snellen.frames.luma import Codes
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.device import over
from snellen.gpu.kernel import Kernel

THREADS = 256
TYPES = {**C_TYPES, "uint8": "unsigned char", "uint16": "unsigned short"}  # without a header


Line = tuple[Sequence[int], Sequence[npt.NDArray[np.float64]]]
"""Where the tiles of an axis begin, ascending, and the weights of their samples."""


class Cutter:
    """Cuts tiles of one grid out of planes, and blends them, on the current GPU.

    Work is queued on CuPy's current stream and nothing waits for it.

    Parameters
    ----------
    shape, tile : (rows, columns)
        Of the planes, and of a tile.
    lines : (Line, Line)
        Of the rows, then of the columns.
    dtype : str
        Of tiles: "float32" or "float64".
    given, made : Codes, optional
        Of the planes that are cut, and of those that are made of tiles; None: `dtype` as well.
    """

    def __init__(
        self, shape: tuple[int, int], tile: tuple[int, int], lines: tuple[Line, ...], dtype: str,
        given: Codes | None = None, made: Codes | None = None,
    ):  # fmt: skip
        real = np.dtype(dtype).type
        low, high = (given.black, given.white) if given else (0, 1)
        self._given = real(low), real(high) - real(low)
        self._cut = _kernel("cut_tiles", given.dtype if given else dtype, dtype, given is not None)
        low, high, most = (made.black, made.white, made.most) if made else (0, 1, 0)
        self._made = real(high) - real(low), real(low), real(most)
        self._blend = _kernel("merge_tiles", dtype, made.dtype if made else dtype, made is not None)
        self._shape, self._tile = shape, tile
        self._grid = [len(firsts) for firsts, _ in lines]
        self.count = prod(self._grid)
        self._firsts = [upload(np.array(firsts, np.int32)) for firsts, _ in lines]
        self._reaching = [
            upload(reaching(size, side, firsts))
            for size, side, (firsts, _) in zip(shape, tile, lines, strict=True)
        ]
        self._weights = [upload(np.array(weights)) for _, weights in lines]

    def split(self, planes: Any) -> Any:
        """Return new tiles of planes of floats: as `Tiles.split`."""
        import cupy

        out = cupy.empty((len(planes) * self.count, planes.shape[1], *self._tile), planes.dtype)
        self.cut(cupy.ascontiguousarray(planes), out)
        return out

    def merge(self, tiles: Any) -> Any:
        """Return new pictures blended from tiles of floats: as `Tiles.merge`."""
        import cupy

        out = cupy.empty((len(tiles) // self.count, *self._shape), tiles.dtype)
        self.blend(cupy.ascontiguousarray(tiles), out)
        return out

    def cut(self, planes: Any, out: Any, values: Any = (None, None)) -> None:
        """Cut tiles out of planes.

        Parameters
        ----------
        planes : (N, M, rows, columns) contiguous CuPy array
            Code values become floats, black 0, as what is below it, and white 1; floats stay as
            they are.
        out : (N · tiles, M, …) CuPy array
        values : (CuPy array, CuPy array), optional
            (N · tiles + N,) of the type of `out`, and as many int32: the first value of each tile
            and, behind them, of each picture; and whether it has others.
        """
        firsts, differs = values
        if differs is not None:
            differs.fill(0)
        self._cut(
            self._over(self._tile, len(planes) * self.count), THREADS,
            planes, len(planes), planes.shape[1], *self._shape, *self._firsts, *self._grid,
            *self._tile, *self._given, out, firsts, differs,
        )  # fmt: skip

    def blend(self, tiles: Any, out: Any, values: Any = (None, None)) -> None:
        """Blend tiles into planes.

        Parameters
        ----------
        tiles : (N · tiles, rows, columns) contiguous CuPy array
        out : (N, rows, columns) CuPy array
            Code values are rounded and clipped, floats are not.
        values : (CuPy array, CuPy array), optional
            As `cut` has filled them: a tile or a picture of one value keeps it, and of the others
            negative samples become 0.
        """
        self._blend(
            self._over(self._shape, len(out)), THREADS,
            tiles, len(out), *self._shape, *self._firsts, *self._grid, *self._tile,
            *self._reaching, *self._weights, *values, *self._made, out,
        )  # fmt: skip

    def _over(self, shape: tuple[int, int], planes: int) -> tuple[int, int]:
        """Return a grid with a thread for each sample of a plane."""
        return over(shape[0] * shape[1], planes, THREADS)


def reaching(size: int, side: int, firsts: Sequence[int]) -> npt.NDArray[np.int32]:
    """Return, for each sample of an axis, the first of the tiles that reach it."""
    ends = np.array(firsts) + side
    return np.searchsorted(ends, np.arange(size), "right").astype(np.int32)


def kernels() -> list[Kernel]:
    """Return the kernels for all types of samples, not compiled yet."""
    found = []
    for real in ("float32", "float64"):
        found += [
            _kernel("cut_tiles", real, real, False),
            _kernel("merge_tiles", real, real, False),
        ]
    for codes in ("uint8", "uint16"):
        found += [_kernel("cut_tiles", codes, "float32", True)]
        found += [_kernel("merge_tiles", "float32", codes, True)]
    return found


@cache
def _kernel(name: str, given: str, made: str, codes: bool) -> Kernel:
    """Return a kernel for samples of one type that become another."""
    is_cut = name == "cut_tiles"
    real = made if is_cut else given
    return Kernel(
        Path(__file__).with_suffix(".cu"), name, threads=THREADS, real=TYPES[real],
        sample=TYPES[given], out=TYPES[made], codes=int(is_cut and codes),
        rounded=int(codes and not is_cut),
    )  # fmt: skip
