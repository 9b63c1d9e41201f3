"""Statistics of the scores of many pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snellen.frames.brief import Brief


@dataclass(frozen=True, slots=True, repr=False)
class Pooled(Brief):
    """Statistics of a video's scores. Of MAD, p95 and max show the worst moments."""

    mean: float
    harmonic_mean: float
    """n / Σ 1/(x + 1) − 1, as VMAF pools (libvmaf.c, VMAF_POOL_METHOD_HARMONIC_MEAN); without the
    ones it is 0 as soon as one picture is identical. It emphasises low scores, which are bad ones
    of VMAF and good ones of MAD."""
    min: float
    max: float
    median: float
    p5: float
    """5th percentile: between two scores, linearly (NumPy's default; Hyndman and Fan's type 7)."""
    p95: float


def pool(scores: Sequence[float]) -> Pooled:
    """Return the statistics of scores, at least one, none below 0."""
    values = np.asarray(scores, np.float64)
    low, middle, high = np.percentile(values, [5, 50, 95])
    return Pooled(
        mean=float(values.mean()),
        harmonic_mean=float(len(values) / (1 / (values + 1)).sum() - 1),
        min=float(values.min()),
        max=float(values.max()),
        median=float(middle),
        p5=float(low),
        p95=float(high),
    )
