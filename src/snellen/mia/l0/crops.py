"""Where in a large picture the PSF is searched: crops with sharp, long edges in many directions."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library

COUNT = 8  # crops, at most; our experiments (lab/mia-l0.md), as all below
SIDE = 512  # of a crop, at least, samples
SUPPORTS = 8  # sides of the PSF that the side of a crop is at least, as in Levin's pictures
STEP = 4  # positions that are tried for each side of a crop
PITCH = 4  # samples of the picture for each one in which edges are looked for, at least
REDUCED = 1 << 20  # samples in which they are looked for, at most
DIRECTIONS = 8  # of gradients, up to their sign
SATURATED = 0.98  # samples above this share of the greatest may be cut off
DOUBT = 1 / 16  # how much gradients near those count: white paper may not be cut off at all

Float64 = npt.NDArray[np.float64]
Crop = tuple[slice, slice]
"""Rows and columns."""


def chosen(image: Any, side: int, most: int | None = None) -> list[Crop]:
    """Return the parts of a picture in which its PSF is searched: the whole of a small one.

    An edge tells of the blur across it, a straight one nothing of that along it. So a crop is as
    good as the direction that it tells least of: it is rated by the least energy Σ |∇y|² of eight
    directions. Gradients are those of the picture reduced to a quarter or less, where long and high
    edges are left, and neither noise nor fine textures; near saturated samples they count little.
    The first crop is the best one; each further one, apart from those before, is the one that is
    best together with them. There are `most`, by default COUNT; a picture is small where it has no
    more samples than these.

    Hu and Yang (2012) learn from examples which parts of a picture are good ones; Xu and Jia (2010)
    and Cho and Lee (2009) choose gradients, the latter as many of each of four directions.
    """
    most = COUNT if most is None else most
    edge = max(SIDE, SUPPORTS * (side + 1))
    shape = min(edge, image.shape[0]), min(edge, image.shape[1])
    if image.size <= most * shape[0] * shape[1]:
        return [(slice(None), slice(None))]
    pitch = max(PITCH, ceil((image.size / REDUCED) ** 0.5))
    at = [_positions(size, part) for size, part in zip(image.shape, shape, strict=True)]
    gradients = _gradients(*_reduced(image, pitch), max(1, side // (2 * pitch)))
    sums = np.stack([_sums(plane, at, shape, pitch) for plane in gradients])
    found: list[Crop] = []
    total, free = np.zeros((DIRECTIONS, 1, 1)), np.ones(sums.shape[1:], bool)
    while len(found) < most and free.any():
        score = np.where(free, (total + sums).min(0), -1)
        i, j = (int(k) for k in np.unravel_index(score.argmax(), score.shape))
        total = total + sums[:, i : i + 1, j : j + 1]
        top, left = int(at[0][i]), int(at[1][j])
        found.append((slice(top, top + shape[0]), slice(left, left + shape[1])))
        free &= (abs(at[0] - top) >= shape[0])[:, None] | (abs(at[1] - left) >= shape[1])
    return found


def _positions(size: int, part: int) -> npt.NDArray[np.int64]:
    """Return the first samples of evenly spaced parts of a line, from its start to its end."""
    count = ceil((size - part) / (part / STEP)) + 1
    return np.linspace(0, size - part, count).round().astype(np.int64)


def _reduced(image: Any, pitch: int) -> tuple[Float64, Float64]:
    """Return means and maxima of squares of `pitch` samples, in main memory; the greatest is 1."""
    if library(image) is np:
        rows, columns = (size // pitch for size in image.shape)
        squares = image[: rows * pitch, : columns * pitch].reshape(rows, pitch, columns, pitch)
        mean, most = squares.mean((1, 3), dtype=np.float64), squares.max((1, 3))
    else:
        from snellen.mia.l0.cuda.reduce import reduced

        mean, most = reduced(image, pitch)
    return mean / most.max(), most / most.max()


def _gradients(mean: Float64, most: Float64, reach: int) -> Iterator[Float64]:
    """Yield |∇y|² of the gradients of each direction, 0 elsewhere; less near saturated samples."""
    x, y = np.zeros_like(mean), np.zeros_like(mean)
    x[:, :-1], y[:-1] = mean[:, 1:] - mean[:, :-1], mean[1:] - mean[:-1]
    energy = x * x + y * y
    energy[_box((most >= SATURATED).astype(np.float64), reach) > 0.5] *= DOUBT
    direction = np.floor(np.arctan2(y, x) / np.pi * DIRECTIONS).astype(np.int64) % DIRECTIONS
    for number in range(DIRECTIONS):
        yield np.where(direction == number, energy, 0)


def _box(plane: Float64, reach: int) -> Float64:
    """Return the sums over windows of 2 · reach + 1 samples each way, cut off at the edges."""
    at = [np.arange(size) for size in plane.shape]
    ranges = [(np.maximum(k - reach, 0), np.minimum(k + reach + 1, len(k))) for k in at]
    return _between(_integral(plane), *ranges)


def _sums(
    plane: Float64, at: list[npt.NDArray[np.int64]], shape: tuple[int, int], pitch: int
) -> Float64:
    """Return the sums over all crops of a plane that is reduced by `pitch`."""
    ranges = [
        (first // pitch, (first + part) // pitch) for first, part in zip(at, shape, strict=True)
    ]
    return _between(_integral(plane), *ranges)


def _integral(plane: Float64) -> Float64:
    return np.pad(plane.cumsum(0).cumsum(1), ((1, 0), (1, 0)))


def _between(integral: Float64, rows: tuple[Any, Any], columns: tuple[Any, Any]) -> Float64:
    """Return the sums of rectangles, from their first (included) to their last rows and columns."""
    lines = integral[rows[1]] - integral[rows[0]]
    result: Float64 = lines[:, columns[1]] - lines[:, columns[0]]
    return result
