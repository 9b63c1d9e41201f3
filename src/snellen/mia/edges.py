"""The period on which a picture is restored, and the treatment of its edges.

The Fourier transform takes a picture as periodic: its left edge meets its right one. Three rules:

circular
    The period is the picture, as if it were periodic.
taper
    The period is the picture; opposite edges are blended into each other.
extend
    The period is larger by the PSF. The margin is unobserved, and its samples are estimated, too.

The functions take NumPy or CuPy arrays and return arrays of the same library. A picture is at the
top left of its period.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from snellen.cpu.transforms import next_fast_len
from snellen.frames.arrays import library
from snellen.mia.definition import SIDES, UNOBSERVED

Edges = Literal["circular", "taper", "extend"]
EDGES: tuple[str, ...] = get_args(Edges)


def period(shape: tuple[int, int], side: int, edges: str) -> tuple[int, int]:
    """Return rows and columns of the period of a picture, for a PSF of an odd `side`.

    With "extend", the period is at least picture + PSF − 1. If both sides permit, it is rounded up
    to sizes that run in one GPU kernel, else to sizes that suit FFT libraries. With the other
    rules, it is the picture.
    """
    rows, columns = shape
    if edges != "extend":
        return rows, columns
    rows, columns = rows + side - 1, columns + side - 1
    if max(rows, columns) <= SIDES[-1]:
        return _next(rows), _next(columns)
    return next_fast_len(rows, real=True), next_fast_len(columns, real=True)


def place(frames: Any, period: tuple[int, int], side: int, edges: str) -> tuple[Any, Any]:
    """Return frames (…, M, rows, columns) of one object on their period, and the first estimate f.

    Unobserved samples of the frames (…, M, H, W) are −1. f (…, H, W) is the mean of the frames; in
    the margin it is a straight line from each edge to the opposite one.
    """
    xp = library(frames)
    if edges == "taper":
        frames = taper(frames, side)
    f = frames.mean(-3, dtype=frames.dtype)
    if edges != "extend":
        return xp.ascontiguousarray(frames), xp.ascontiguousarray(f)
    y = xp.full((*frames.shape[:-2], *period), UNOBSERVED, frames.dtype)
    rows, columns = frames.shape[-2:]
    y[..., :rows, :columns] = frames
    f = _bridged(f, period[1], -1)
    return y, xp.ascontiguousarray(_bridged(f, period[0], -2))


def cut(f: Any, shape: tuple[int, int]) -> Any:
    """Return the picture (…, rows, columns) of a plane on its period (…, H, W)."""
    return f[..., : shape[0], : shape[1]]


def taper(frames: Any, side: int) -> Any:
    """Return frames (…, rows, columns) whose opposite edges are blended into each other.

    y' = w·y + (1 − w)·flip(y), along columns first, then along rows. w is a raised cosine: 1/2 at
    the edge and 1 from `side` // 2 samples on, so opposite edges have the same values.
    """
    for axis in (-2, -1):
        weight = _weights(frames, side // 2, axis)
        flipped = library(frames).flip(frames, axis)
        frames = weight * frames + (1 - weight) * flipped
    return frames


def blend(size: int, reach: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return the weights w of `taper` along a line of `size`, for a blend of `reach` samples."""
    weight = np.ones(size, dtype)
    reach = min(reach, size // 2)
    ramp = 0.75 - 0.25 * np.cos(np.pi * (np.arange(reach) + 0.5) / max(reach, 1))
    weight[:reach] = ramp
    weight[size - reach :] = ramp[::-1]
    return weight


def _weights(frames: Any, reach: int, axis: int) -> Any:
    """Return the weights of `blend` along an axis of frames, as their library broadcasts them."""
    weight = blend(frames.shape[axis], reach, frames.dtype)
    return library(frames).asarray(weight[:, None] if axis == -2 else weight)


def _next(size: int) -> int:
    """Return the least of SIDES that is at least `size`."""
    return next(side for side in SIDES if side >= size)


def _bridged(plane: Any, size: int, axis: int) -> Any:
    """Return a plane extended along an axis to `size`, by a line from its end to its start."""
    xp = library(plane)
    gap = size - plane.shape[axis]
    share = xp.asarray(np.arange(1, gap + 1, dtype=plane.dtype) / plane.dtype.type(gap + 1))
    if axis == -2:
        share = share[:, None]
    first, last = (xp.take(plane, xp.asarray([end]), axis) for end in (0, plane.shape[axis] - 1))
    return xp.concatenate([plane, (1 - share) * last + share * first], axis)
