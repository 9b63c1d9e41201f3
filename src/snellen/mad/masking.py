"""Detection, step 3: statistics of filtered blocks, and how visible the error is in each."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled
from snellen.mad.definition import STEP

GATE = 0.5  # mean lightness below which nothing is seen; Larson & Chandler 2010, G in 3.1
THRESHOLD = -5.0  # ln contrast of the reference up to which it masks nothing; ibid., δ
WINDOW = 2  # tiles of the side of the window whose deviation masks: 8 × 8 pixels
PROBE = 5  # pixels from a block's corner to where the authors' code reads other blocks' deviations
TILES = 4  # of the side of a block


@compiled
def tiles(plane, mean, squares):  # type: ignore[no-untyped-def]
    """Mean and sum of squared deviations of each tile of 4 × 4 pixels.

    Parameters
    ----------
    plane : (M, N)
    mean, squares : (rows + 3, columns + 3) of the block grid
        Out.
    """
    for a in range(mean.shape[0]):
        for b in range(mean.shape[1]):
            total = 0.0
            for i in range(4 * a, 4 * a + 4):
                for j in range(4 * b, 4 * b + 4):
                    total += plane[i, j]
            total /= 16
            mean[a, b] = total
            spread = 0.0
            for i in range(4 * a, 4 * a + 4):
                for j in range(4 * b, 4 * b + 4):
                    away = plane[i, j] - total
                    spread += away * away
            squares[a, b] = spread


@compiled
def blocks(mean, squares, side, means, deviations):  # type: ignore[no-untyped-def]
    """Mean and sample standard deviation of windows of side × side tiles at each block's corner.

    Parameters
    ----------
    mean, squares : as `tiles` gives them
    side : int
        4: the block itself.
    means, deviations : (rows, columns)
        Out.
    """
    for a in range(means.shape[0]):
        for b in range(means.shape[1]):
            middle = 0.0
            for i in range(a, a + side):
                for j in range(b, b + side):
                    middle += mean[i, j]
            middle /= side**2
            total = 0.0
            for i in range(a, a + side):
                for j in range(b, b + side):
                    away = mean[i, j] - middle
                    total += squares[i, j] + 16 * away * away
            means[a, b] = middle
            deviations[a, b] = np.sqrt(total / (16 * side**2 - 1))


@compiled
def least(deviations, height, width, out):  # type: ignore[no-untyped-def]
    """Least deviation among a block's own and those at the probes to the right and below.

    The authors' code looks 5 pixels on in a map where each block fills 4 × 4 pixels, and so finds
    the next block; it does where its own corner plus 5 is still a corner's place, < size − 15.

    Parameters
    ----------
    deviations : (rows, columns)
        Of the 8 × 8 pixels at each block's corner.
    height, width : int
        Of the picture.
    out : (rows, columns)
    """
    for a in range(out.shape[0]):
        down = STEP * a + PROBE < height - 15
        for b in range(out.shape[1]):
            right = STEP * b + PROBE < width - 15
            value = deviations[a, b]
            if down:
                value = min(value, deviations[a + 1, b])
            if right:
                value = min(value, deviations[a, b + 1])
            if down and right:
                value = min(value, deviations[a + 1, b + 1])
            out[a, b] = value


@compiled
def visibility(mean, masking, error, out):  # type: ignore[no-untyped-def]
    """By how much the error's ln contrast is above that of the reference; 0 where it is unseen.

    Parameters
    ----------
    mean, masking : (rows, columns)
        Mean and modified deviation of the reference's blocks.
    error : (rows, columns)
        Deviation of the error's blocks.
    out : (rows, columns)
    """
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[a, b] = 0
            if mean[a, b] >= GATE and error[a, b] > 0:
                base = THRESHOLD
                if masking[a, b] > 0:
                    base = max(base, np.log(masking[a, b] / mean[a, b]))
                over = np.log(error[a, b] / mean[a, b]) - base
                if over > 0:
                    out[a, b] = over
