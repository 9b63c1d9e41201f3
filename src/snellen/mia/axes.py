"""What the axes of an array are: batches, frames, rows, columns, channels.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames import arrays
from snellen.mia.tiles import Tiles

Array = Any
"""Of NumPy or CuPy."""
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the axes of an array are."""

    batch: tuple[int, ...]
    frames: tuple[int, ...]
    """(M,) of many frames of one object, else ()."""
    size: tuple[int, int]
    """Rows and columns."""
    channels: tuple[int, ...]
    """(3,) or ()."""

    @classmethod
    def of(cls, array: Array, multiframe: bool) -> Layout:
        """Return that of an array.

        Raises
        ------
        InputError
            It has too few axes, or no pixel; its last axis looks like channels that are none.
        """
        _no_other_channels(array.shape)
        colour = array.ndim >= 3 and array.shape[-1] == 3
        least = 2 + colour + multiframe
        wanted = "(M, H, W) or (M, H, W, 3)" if multiframe else "(…, H, W) or (…, H, W, 3)"
        many = array.ndim > least and multiframe
        axes = array.ndim - 2 - colour
        if array.ndim < least or many or 0 in array.shape[axes:] or (multiframe and not len(array)):
            raise InputError(
                f"an array of shape {array.shape} came, expected {wanted}, with at least one pixel"
            )
        lead, size = tuple(array.shape[:axes]), (array.shape[axes], array.shape[axes + 1])
        both = ((), lead) if multiframe else (lead, ())
        return cls(both[0], both[1], size, (3,) * colour)

    def lead(self, tiles: Tiles | None) -> tuple[int, ...]:
        """Return the axes of PSFs before their rows and columns."""
        return (*self.batch, *(tiles.grid if tiles else ()), *self.frames)

    def planes(self, array: Array) -> Array:
        """Return the channels of all frames: (C, N, M, rows, columns)."""
        xp = arrays.library(array)
        shape = (prod(self.batch), prod(self.frames), *self.size, prod(self.channels))
        return xp.ascontiguousarray(xp.moveaxis(array.reshape(shape), -1, 0))

    def image(self, pictures: Array) -> Array:
        """Return pictures (C, N, rows, columns) in the array's layout, without the frames."""
        xp = arrays.library(pictures)
        last = xp.ascontiguousarray(xp.moveaxis(pictures, 0, -1))
        return last.reshape(*self.batch, *self.size, *self.channels)

    def blurs(self, psf: Float64, tiles: Tiles | None) -> Float64:
        """Return given PSFs for each of all (N · tiles, M, K, K).

        Raises
        ------
        InputError
            Their axes are not those of the pictures.
        """
        lead, side = self.lead(tiles), psf.shape[-1]
        try:
            every = np.broadcast_to(psf, (*lead, side, side))
        except ValueError as error:
            raise InputError(
                f"psf of shape {psf.shape} came, expected {(side, side)}"
                + (f" or {(*lead, side, side)}" if lead else "")
            ) from error
        return every.reshape(-1, prod(self.frames), side, side)


def _no_other_channels(shape: tuple[int, ...]) -> None:
    if len(shape) != 3 or shape[-1] not in (2, 4) or min(shape[:-1]) <= 4:
        return
    kept = "image[..., :3]" if shape[-1] == 4 else "image[..., 0] (of four, image[..., :3])"
    raise InputError(
        f"an array of shape {shape} came, whose last axis looks like {shape[-1]} channels: colour "
        f"is (H, W, 3), so leave transparency out, {kept}; if these are {shape[0]} pictures of "
        f"only {shape[-1]} columns, turn them, image.swapaxes(1, 2), and a PSF with them"
    )
