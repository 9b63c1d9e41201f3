"""Statistics of the scores of many pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, log10
from typing import Any

import numpy as np
import numpy.typing as npt

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
    of_mean_mse: float | None = None
    """For PSNR, that of the mean of the pictures' mean squared errors, in dB, as FFmpeg's summary
    has it; at most `mean`, which is that of their decibels. None: another score."""

    def facts(self) -> dict[str, Any]:
        """Return the statistics that there are, by their names."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def pool(scores: Sequence[float]) -> Pooled:
    """Return the statistics of scores, at least one, none below 0; some may be infinite."""
    values = np.asarray(scores, np.float64)
    low, middle, high = (_percentile(np.sort(values), share) for share in (0.05, 0.5, 0.95))
    with np.errstate(divide="ignore"):  # all may be infinite
        harmonic = float(len(values) / (1 / (values + 1)).sum() - 1)
    return Pooled(
        mean=float(values.mean()),
        harmonic_mean=harmonic,
        min=float(values.min()),
        max=float(values.max()),
        median=float(middle),
        p5=float(low),
        p95=float(high),
    )


def pool_psnr(scores: Sequence[float]) -> Pooled:
    """Return the statistics of PSNR in dB, with that of the mean squared error."""
    values = np.asarray(scores, np.float64)
    share = float(np.power(10.0, values / -10).mean())  # mean squared error / white²
    return replace(pool(scores), of_mean_mse=-10 * log10(share) if share else inf)


def _percentile(ascending: npt.NDArray[np.float64], share: float) -> float:
    """Return the score below which a share of all lies; linear, but for infinite scores."""
    place = share * (len(ascending) - 1)
    below = int(place)
    low, high = ascending[below], ascending[min(below + 1, len(ascending) - 1)]
    if low == high or place == below:
        return float(low)
    return float(low + (place - below) * (high - low))
