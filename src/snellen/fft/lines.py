"""Complex numbers of lines in shared memory: TURNS of small.cuh, NEEDED of places.cuh."""

from __future__ import annotations

CELL = 8  # bytes of a complex number


def turns(points: int, values: int) -> int:
    """Return the cells of the table of turns of a line."""
    lanes = points // values
    if values == 2 * lanes:  # all of a lane are made of one
        return lanes
    return max(lanes, values) * (6 if lanes > 2 * values else min(lanes, values) // 2 + 2)


def exchange(points: int, values: int) -> int:
    """Return the cells of the exchange of the lines of a warp, each with some to spare."""
    lanes = points // values
    line = values * (values * (lanes // values + 1) if lanes > 2 * values else lanes + 1)
    return 32 // lanes * (line if lanes < 16 else (line + 13) // 16 * 16 + 2)
