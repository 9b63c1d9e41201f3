"""A picture looks coded by its blocks: those of 8 × 8 leave steps at their borders, in every codec.

A step shows in third differences, which are small inside smooth content. Each one is compared with
its two neighbours, so that no content outweighs another: it stands out, or lies below both. If more
of them stand out on one of the eight columns (or rows) modulo 8 than on the others, by more than
the columns differ among themselves, there are blocks. Where the grid begins is not known, as a
picture may have been cropped. Pixels that were repeated twice or four times stand out on several of
the eight alike, and edges that were drawn do so all along a column, or on a few of many borders, as
blocks never do: neither counts. All counts are of integers: each device gives the same answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

BLOCK = 8  # pixels: the grid of the transforms of JPEG, H.264 and H.265
SIDE = 256  # pixels of the part that is looked at: it costs half a millisecond
LEAST = 12 * BLOCK  # pixels of a side, below which too few borders count
MEAN = 2.5  # standard errors by which borders stand out, mean of both directions: lab/sources.md
EACH = 1.0  # likewise in each direction
NEXT = 0.8  # likewise from the next of the eight alone, mean of both directions
HALF = 0.1  # standard deviations by which half of the borders stand out, mean of both directions
DRAWN = 0.9  # share of its rows in which a column stands out that is a drawn edge
_FLOOR = 0.002  # least standard error of a share: flat pictures have none


def looks_coded(luma: Bytes) -> bool:
    """Return whether a picture, (H, W), has the traces of blocks; SIDE × SIDE in its middle say."""
    if min(luma.shape) < LEAST:
        return False
    top, left = (max(side - SIDE, 0) // 2 for side in luma.shape)
    plane = luma[top : top + SIDE, left : left + SIDE].astype(np.int16)
    found = np.array([_standing_out(one) for one in (plane, np.ascontiguousarray(plane.T))])
    mean, following, half = found.mean(0)
    return bool(found[:, 0].min() > EACH and mean > MEAN and following > NEXT and half > HALF)


def _standing_out(plane: npt.NDArray[np.int16]) -> tuple[float, float, float]:
    """Return by how much one of the eight columns stands out."""
    # In standard errors from the mean of the others, and from the one that follows it; and in
    # standard deviations how much the median of its borders does from that of all others.
    third = np.abs(plane[:, 3:] - 3 * plane[:, 2:-1] + 3 * plane[:, 1:-2] - plane[:, :-3])
    here, before, after = third[:, 1:-1], third[:, :-2], third[:, 2:]
    above = np.count_nonzero((here > before) & (here > after), axis=0)
    below = np.count_nonzero((here < before) & (here < after), axis=0)
    shares = (above - below) / len(plane)
    shares[shares > DRAWN] = 0
    shares = shares[: len(shares) // BLOCK * BLOCK].reshape(-1, BLOCK)
    means = shares.mean(0)
    most = int(means.argmax())
    others = np.delete(shares, most, 1)
    if not np.ptp(others):  # flat but for drawn edges, or the same along diagonals
        return 0.0, 0.0, 0.0
    deviation = float(others.std())
    half = float(np.median(shares[:, most]) - np.median(others)) / deviation
    error = deviation / len(others) ** 0.5 + _FLOOR
    rest = np.delete(means, most)
    found = [float(means[most] - one) / error for one in (rest.mean(), rest.max())]
    return found[0], found[1], half
