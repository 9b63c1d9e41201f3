"""Metrics beside MAD of the pairs of a call, on the luma that MAD takes."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from snellen.mad.pictures import plain
from snellen.mad.result import Number
from snellen.metrics.registry import MAD, METRICS

Pair = tuple[int, Any, Any]
"""The number of a pair in the batch, and where its pictures lie in each array."""


def measured(
    both: tuple[Any, Any],
    pairs: Iterable[Pair],
    batch: tuple[int, ...],
    peak: float,
    names: tuple[str, ...],
) -> dict[str, Number]:
    """Return the scores of all metrics among `names` but MAD, by name.

    Parameters
    ----------
    both : (array, array)
        References and distorted pictures, checked. Those on a GPU are copied to main memory.
    pairs : iterable of pairs
        Those with one reference follow one another.
    batch : tuple of int
        Axes of the numbers; () for one pair.
    peak : float
        The sample value of white.
    names : tuple of str
    """
    measures = {name: METRICS[name].measure for name in names if name != MAD}
    found = {name: np.empty(prod(batch)) for name in measures}
    current, reference = None, None
    for number, one, other in pairs if found else ():
        if reference is None or one != current:
            current, reference = one, plain(both[0][one], peak, "cpu")
        distorted = plain(both[1][other], peak, "cpu")
        for name, numbers in found.items():
            numbers[number] = measures[name](reference, distorted, peak)
    return {
        name: numbers.reshape(batch) if batch else float(numbers[0])
        for name, numbers in found.items()
    }
