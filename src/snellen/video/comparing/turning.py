"""Rotations and flips by a tag: what they do to pictures, and when a comparison applies them."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.video.media import MediaInfo, PictureInfo

Matrix = tuple[int, ...]
"""FFmpeg's display matrix, 9 numbers: it maps (x, y) to (a·x + c·y, b·x + d·y); its first numbers
are a, b, 0, c, d."""
_NAMES = {
    (False, False, False): "upright", (False, True, True): "turned by 180°",
    (False, True, False): "flipped left to right", (False, False, True): "flipped top to bottom",
    (True, True, False): "turned by a quarter, to the right",
    (True, False, True): "turned by a quarter, to the left",
    (True, False, False): "transposed", (True, True, True): "transposed, the other way",
}  # fmt: skip


def orientation(matrix: Matrix | None) -> tuple[bool, bool, bool]:
    """Return whether rows and columns are exchanged, and then columns and rows reversed.

    This takes a matrix to the nearest multiple of 90°.
    """
    if matrix is None:
        return False, False, False
    a, b, _, c, d = matrix[:5]
    swapped = abs(b) > abs(a)
    if swapped:
        a, d = c, b
    return swapped, a < 0, d < 0


def is_on_its_side(matrix: Matrix | None) -> bool:
    """Return whether pictures are shown turned by a quarter."""
    return orientation(matrix)[0]


def oriented(samples: npt.NDArray[Any], matrix: Matrix | None) -> npt.NDArray[Any]:
    """Return samples (H, W, …) turned and flipped as they are shown."""
    swapped, across, down = orientation(matrix)
    if not (swapped or across or down):
        return samples
    if swapped:
        samples = samples.swapaxes(0, 1)
    if down:
        samples = samples[::-1]
    if across:
        samples = samples[:, ::-1]
    return np.ascontiguousarray(samples)


def said(matrix: Matrix | None) -> str:
    """Return what the tag does to pictures."""
    return _NAMES[orientation(matrix)]


def stored_size(picture: PictureInfo) -> tuple[int, int]:
    """Return width and height of a film's frames."""
    return picture.format.width, picture.format.height


def shown_size(picture: PictureInfo) -> tuple[int, int]:
    """Return width and height of a film's frames as their tag turns them."""
    width, height = stored_size(picture)
    return (height, width) if is_on_its_side(picture.display_matrix) else (width, height)


def lies_across(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two sizes, (width, height), agree better if one of them is turned."""
    shape, partner = log(one[0] / one[1]), log(other[0] / other[1])
    return abs(shape + partner) < abs(shape - partner)


def applies(one: MediaInfo, other: MediaInfo) -> bool:
    """Return whether two films are compared as they are shown, and not as they are stored.

    They are if this makes their sizes agree: one is turned by its tag, and the other one in its
    pixels, or by another tag. Films that agree as they are stored may be original and copy, of
    which one has lost its tag.
    """
    stored = stored_size(one.picture), stored_size(other.picture)
    shown = shown_size(one.picture), shown_size(other.picture)
    return lies_across(*stored) and not lies_across(*shown)
