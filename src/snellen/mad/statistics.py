"""Appearance, steps 2 and 3: the statistics of the blocks of subbands, and their difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

Array = npt.NDArray[Any]

WEIGHTS = (0.5 / 13.25, 0.75 / 13.25, 1 / 13.25, 5 / 13.25, 6 / 13.25)
"""Weights of the scales, from fine to coarse; Larson & Chandler 2010, 3.2. Their sum is 1."""
SKEW = 2.0  # weight of the skewness; standard deviation and kurtosis have weight 1


def statistics(response: Array, out: npt.NDArray[np.float64]) -> None:
    """Compute statistics of |response| in each block of 16 × 16 pixels, every 4 pixels.

    A block consists of 4 × 4 tiles of 4 × 4 pixels. Moments of a tile are centred on the tile's
    mean, and combined into those of a block (Chan, Golub, LeVeque 1983; Pébay 2008): sums of raw
    powers would lose the digits of skewness and kurtosis. In coarse scales, the values of a block
    differ little from their mean: even rounding |response| to float32 would change LO by 1e-5.

    `response` (M, N, 2), float32 or float64, has the real and imaginary parts of a subband, `out`
    (3, rows, columns) float64 gets sample standard deviation, skewness and kurtosis (3 for a
    Gaussian), the latter two normalised by the population's standard deviation, and 0 where that is
    0.
    """
    tiles = out.shape[2] + 3
    _statistics(
        response, np.empty((4, 4 * tiles)), np.empty((4, 4 * tiles)), np.empty((4, 4, tiles)),
        np.empty((4, out.shape[2])), out,
    )  # fmt: skip


@compiled
def _statistics(response, value, scratch, moments, block, out):  # type: ignore[no-untyped-def]
    """Compute the statistics; the four arrays are scratch, `moments` of four rows of tiles."""
    for t in range(out.shape[1] + 3):
        _magnitude(response, 4 * t, value)
        _tiles(value, scratch, moments[t % 4])
        if t >= 3:
            _blocks(moments, scratch[0], block)
            _normalise(block, out[0, t - 3], out[1, t - 3], out[2, t - 3])


@compiled
def _magnitude(response, top, out):  # type: ignore[no-untyped-def]
    """Compute |response| in the four rows from `top` on."""
    for i in range(4):
        row, magnitude = response[top + i], out[i]
        for j in range(len(magnitude)):
            real, imaginary = np.float64(row[j, 0]), np.float64(row[j, 1])
            magnitude[j] = np.sqrt(real * real + imaginary * imaginary)


@compiled
def _tiles(value, scratch, out):  # type: ignore[no-untyped-def]
    """Compute mean and sums of 2nd, 3rd and 4th powers around it, of each tile of a row."""
    a, b, c, d = value[0], value[1], value[2], value[3]
    level, two, three, four = scratch[0], scratch[1], scratch[2], scratch[3]
    for j in range(len(a)):
        level[j] = (a[j] + b[j]) + (c[j] + d[j])
    for tile in range(out.shape[1]):
        j = 4 * tile
        mean = ((level[j] + level[j + 1]) + (level[j + 2] + level[j + 3])) / 16
        out[0, tile] = mean
        level[j] = level[j + 1] = level[j + 2] = level[j + 3] = mean
    for j in range(len(a)):
        p, q, r, s = a[j] - level[j], b[j] - level[j], c[j] - level[j], d[j] - level[j]
        pp, qq, rr, ss = p * p, q * q, r * r, s * s
        two[j] = (pp + qq) + (rr + ss)
        three[j] = (pp * p + qq * q) + (rr * r + ss * s)
        four[j] = (pp * pp + qq * qq) + (rr * rr + ss * ss)
    for power in range(1, 4):
        sums = scratch[power]
        for tile in range(out.shape[1]):
            j = 4 * tile
            out[power, tile] = (sums[j] + sums[j + 1]) + (sums[j + 2] + sums[j + 3])


@compiled
def _blocks(moments, column, out):  # type: ignore[no-untyped-def]
    """Combine the moments of 4 × 4 tiles: the block's mean and sums of powers around it."""
    mean, two, three, four = out[0], out[1], out[2], out[3]
    a, b, c, d = moments[0, 0], moments[1, 0], moments[2, 0], moments[3, 0]
    for k in range(len(a)):
        column[k] = (a[k] + b[k]) + (c[k] + d[k])
    for n in range(len(mean)):  # summed in pairs, so that the mean of equal values is exact
        mean[n] = ((column[n] + column[n + 1]) + (column[n + 2] + column[n + 3])) / 16
        two[n] = three[n] = four[n] = 0
    for i in range(4):
        m1, m2, m3, m4 = moments[i, 0], moments[i, 1], moments[i, 2], moments[i, 3]
        for k in range(4):
            for n in range(len(mean)):
                d1 = m1[n + k] - mean[n]
                dd = d1 * d1
                two[n] += m2[n + k] + 16 * dd
                three[n] += m3[n + k] + d1 * (3 * m2[n + k] + 16 * dd)
                four[n] += m4[n + k] + d1 * (4 * m3[n + k] + d1 * (6 * m2[n + k] + 16 * dd))


@compiled
def _normalise(block, deviation, skewness, kurtosis):  # type: ignore[no-untyped-def]
    """Turn sums over the 256 pixels of each block into the three statistics."""
    for b in range(len(deviation)):
        m2, m3, m4 = block[1, b], block[2, b], block[3, b]
        deviation[b] = np.sqrt(m2 / 255)
        skewness[b] = kurtosis[b] = 0
        if m2 > 0:  # not divided by m2²: it may underflow
            skewness[b] = 16 * (m3 / m2) / np.sqrt(m2)
            kurtosis[b] = 256 * (m4 / m2) / m2


@compiled
def difference(reference, distorted, out):  # type: ignore[no-untyped-def]
    """Compute Σ weight · (|Δ std| + 2 |Δ skewness| + |Δ kurtosis|) over scales and orientations.

    Of what `statistics` computes of all subbands, (5, orientations, 3, rows, columns); `out` is
    (rows, columns).
    """
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[a, b] = 0
    for scale in range(reference.shape[0]):
        weight = WEIGHTS[scale]
        for orientation in range(reference.shape[1]):
            one, other = reference[scale, orientation], distorted[scale, orientation]
            for a in range(out.shape[0]):
                for b in range(out.shape[1]):
                    std = abs(one[0, a, b] - other[0, a, b])
                    skew = abs(one[1, a, b] - other[1, a, b])
                    kurtosis = abs(one[2, a, b] - other[2, a, b])
                    out[a, b] += weight * (std + SKEW * skew + kurtosis)
