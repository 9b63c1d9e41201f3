"""Detection, step 3: statistics of filtered blocks, and the visibility of the error in each."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled
from snellen.mad.definition import STEP

# Larson & Chandler 2010, 3.1, G: mean lightness of a block below which no error is visible.
GATE = 0.5
THRESHOLD = -5.0  # ln contrast of the reference below which it masks nothing; ibid., δ
WINDOW = 2  # side in tiles of the window whose deviation masks errors: 8 × 8 pixels
PROBE = 5  # pixels from a block's corner to the map elements that the authors' code reads, too
TILES = 4  # side of a block in tiles


@compiled
def tiles(plane, mean, squares):  # type: ignore[no-untyped-def]
    """Compute mean and sum of squared deviations of each tile of 4 × 4 pixels of a plane (M, N).

    Both are (rows + 3, columns + 3), for a grid of rows × columns blocks.
    """
    for a in range(mean.shape[0]):
        for b in range(mean.shape[1]):
            total = 0.0
            for i in range(4 * a, 4 * a + 4):
                for j in range(4 * b, 4 * b + 4):
                    total += plane[i, j]
            total /= 16
            mean[a, b] = total
            sum_of_squares = 0.0
            for i in range(4 * a, 4 * a + 4):
                for j in range(4 * b, 4 * b + 4):
                    deviation = plane[i, j] - total
                    sum_of_squares += deviation * deviation
            squares[a, b] = sum_of_squares


@compiled
def blocks(mean, squares, side, means, deviations):  # type: ignore[no-untyped-def]
    """Compute mean and sample standard deviation of a window at the corner of each block.

    From what `tiles` computes; `side` is that of the windows in tiles, 4 for the blocks themselves.
    Both results are (rows, columns).
    """
    for a in range(means.shape[0]):
        for b in range(means.shape[1]):
            centre = 0.0
            for i in range(a, a + side):
                for j in range(b, b + side):
                    centre += mean[i, j]
            centre /= side * side
            total = 0.0
            for i in range(a, a + side):
                for j in range(b, b + side):
                    deviation = mean[i, j] - centre
                    total += squares[i, j] + 16 * deviation * deviation
            means[a, b] = centre
            deviations[a, b] = np.sqrt(total / (16 * side * side - 1))


@compiled
def least(deviations, height, width, out):  # type: ignore[no-untyped-def]
    """Compute the least deviation (rows, columns) of each block and those to its right and below.

    Deviations are those of the 8 × 8 pixels at each block's corner. The authors' code reads a map
    in which each block fills 4 × 4 pixels, at `PROBE` = 5 pixels from the block's corner, and so
    finds the next block. It does so only if the corner plus 5 is less than the picture's size − 15,
    the limit of corners.
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
    """Compute by how much ln contrast of the error exceeds that of the reference; 0: not visible.

    Of each block, (rows, columns): `mean` is the lightness of the reference, `masking` its
    deviation as `least` computes it, `error` the standard deviation of the error.
    """
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[a, b] = 0
            if mean[a, b] >= GATE and error[a, b] > 0:
                masked = THRESHOLD
                if masking[a, b] > 0:
                    masked = max(masked, np.log(masking[a, b] / mean[a, b]))
                excess = np.log(error[a, b] / mean[a, b]) - masked
                if excess > 0:
                    out[a, b] = excess
