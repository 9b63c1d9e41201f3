"""What an iteration must do at least: operations of its transforms."""

from __future__ import annotations

from math import log2

from snellen.bench.mia.cases import ITERATIONS


def operations(side: int) -> float:
    """Return operations of the transforms of one picture's restoration, blind Poisson.

    Three complex transforms of the whole period do what six real ones would; one of n points
    counts 5 n log₂ n, as everybody counts. What is between them is left out.
    """
    points = side * side
    return ITERATIONS * 3 * 5 * points * log2(points)
