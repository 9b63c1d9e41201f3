"""Large areas of a single value in planes in main memory, for which float32 does not suffice.

The kernel of `cuda/flat.py`, which says why, finds them in planes on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SIDE = 64
"""Side of a tile in samples; in narrower areas float32 is accurate to 1e-5."""
_ROWS = (0, SIDE - 1, SIDE // 2)
"""Rows of a tile that are looked at first; few tiles have one value in all of them."""


def flat(plane: npt.NDArray[Any]) -> bool:
    """Return whether a tile of `plane` (H, W) has a single value, float samples as float32."""
    down, across = (size // SIDE for size in plane.shape)
    tiles = plane[: down * SIDE, : across * SIDE].reshape(down, SIDE, across, SIDE)
    # Two samples each settle most tiles without reading the picture.
    rows, columns = np.nonzero(_same(tiles[:, 0, :, 0], tiles[:, SIDE // 2, :, SIDE - 1]))
    for row in _ROWS:
        lines = tiles[rows, row, columns]
        equal = _same(lines, tiles[rows, 0, columns, :1]).all(axis=1)
        rows, columns = rows[equal], columns[equal]
    return any(
        _same(tiles[row, :, column], tiles[row, 0, column, 0]).all()
        for row, column in zip(rows, columns, strict=True)
    )


def _same(one: npt.NDArray[Any], other: Any) -> Any:
    if one.dtype.kind != "f":
        return one == other
    with np.errstate(all="ignore"):
        return one.astype(np.float32) == other.astype(np.float32)
