"""Data layout of features, with which four lanes of a warp read a row as 16-byte vectors.

A feature is a row of float32, padded with zeros to slabs of 32 dimensions. In each slab, lane t of
four has dimensions 4t … 4t+3 and 16+4t … 16+4t+3.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Sample = TypeVar("Sample", bound=np.generic)

SLAB = 32
LANES = 4

LANE_DIMS = np.array([[4 * t + i for i in range(4)] + [16 + 4 * t + i for i in range(4)]
                      for t in range(LANES)])  # fmt: skip
"""(4, 8): the dimensions of each lane."""


def padded(dims: int) -> int:
    """Return the dimensions of a row: whole slabs."""
    return -(-dims // SLAB) * SLAB


def pad(array: npt.NDArray[Sample], axis: int, size: int) -> npt.NDArray[Sample]:
    """Return `array` with zeros at the end of an axis, up to `size`."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, size - array.shape[axis])
    return np.pad(array, widths)


def by_lane(array: npt.NDArray[Sample]) -> npt.NDArray[Sample]:
    """Return (…, DIMS) with the eight values of each lane side by side, slab by slab."""
    slabs = array.reshape(*array.shape[:-1], -1, SLAB)
    return slabs[..., LANE_DIMS.ravel()].reshape(array.shape)
