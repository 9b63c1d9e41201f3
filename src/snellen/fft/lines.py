"""Sizes of what a line of small.cuh needs in shared memory: its twiddle table and its exchange.

The kernels check these numbers against their own by static_assert.
"""

from __future__ import annotations

COMPLEX = 8  # bytes of a complex number in single precision


def twiddles(points: int, values: int) -> int:
    """Return the complex numbers of a line's twiddle table, `Line::TWIDDLES`.

    Parameters
    ----------
    points : int
        Points of the line.
    values : int
        Values that each of its lanes holds.
    """
    lanes = points // values
    if values == 2 * lanes:  # a row holds one factor, from which the lane computes the others
        return lanes
    return max(lanes, values) * (6 if lanes > 2 * values else min(lanes, values) // 2 + 2)


def exchange(points: int, values: int) -> int:
    """Return the complex numbers of a warp's padded exchange, `ExchangeSize::WARP`.

    Parameters
    ----------
    points : int
        Points of the line.
    values : int
        Values that each of its lanes holds.
    """
    lanes = points // values
    line = values * (values * (lanes // values + 1) if lanes > 2 * values else lanes + 1)
    return 32 // lanes * (line if lanes < 16 else (line + 13) // 16 * 16 + 2)
