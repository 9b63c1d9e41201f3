"""Black bars of a film: found on some frames of it, and told from dark scenes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from snellen.frames.frame import Format
from snellen.video.filtering.crop import Area

_DARK = 24
"""Brightest code value of a bar, of 8 bits: black is 16 or 0, and coding and tape add a little."""
_STRAY = 0.01
"""Share of samples of a row of a bar that may be brighter in some frame: ringing, dropouts."""
_LIT = 0.5
"""Share of samples of the picture's first row that are brighter in some frame: its edge is straight
and as long as the picture. The edge of something dark in the picture is not."""
_EDGE, _RINGING = 0.02, 8
"""Share of the picture's side that the edge may take, which is soft in analogue films; samples that
it may take in small pictures, where a block's coding reaches over it."""
_LEAST, _MOST = 0.015, 0.45
"""Share of the picture's side that a bar takes."""
_FLAT = 10
"""Code values between the 1st and 99th percentile of a bar in a frame: dark scenes have more."""


def picture_area(planes: Sequence[npt.NDArray[np.uint8]]) -> Area | None:
    """Return the part of pictures inside black bars, as seen in all of them; None: all of it.

    `planes` are luma of one size, of 8 bits.
    """
    alike = [plane for plane in planes if plane.shape == planes[0].shape]
    if not alike:
        return None
    lit = np.max(alike, axis=0) > _DARK
    height, width = lit.shape
    top, bottom = _sides([plane.T for plane in alike], lit.T)
    inner = slice(top, height - bottom)
    left, right = _sides([plane[inner] for plane in alike], lit[inner])
    if not (top or bottom or left or right):
        return None
    return Area(width - left - right, height - top - bottom, left, top)


def is_balanced(area: Area, format: Format) -> bool:
    """Return whether bars on opposite sides are alike, as they are where a picture was fitted."""
    right, bottom = format.width - area.left - area.width, format.height - area.top - area.height
    return (
        abs(area.left - right) <= _LEAST * format.width
        and abs(area.top - bottom) <= _LEAST * format.height
    )


def _sides(planes: Sequence[npt.NDArray[np.uint8]], lit: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the columns of the bars at the left and the right; 0: there is none."""
    share = lit.mean(axis=0)
    mirrored = [plane[:, ::-1] for plane in planes]
    return _bar(planes, share), _bar(mirrored, share[::-1])


def _bar(planes: Sequence[npt.NDArray[np.uint8]], share: npt.NDArray[np.float64]) -> int:
    """Return the columns of a bar at the left; `share`: of lit samples in each column."""
    size = len(share)
    dark = int(np.argmax(share > _STRAY))
    begin = int(np.argmax(share >= _LIT))
    if share[begin] < _LIT or begin - dark > max(_RINGING, _EDGE * size):
        return 0
    if not _LEAST * size <= begin <= _MOST * size or not dark:
        return 0
    for plane in planes:
        least, most = np.percentile(plane[:, :dark], (1, 99))
        if most - least > _FLAT:
            return 0
    return begin
