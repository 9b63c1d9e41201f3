"""Whether transforms are right, before any time is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from snellen.bench.fft.cases import DISTINCT, Case, Shape, drawn
from snellen.cpu.threads import available
from snellen.errors import SnellenError
from snellen.frames.arrays import library

WITHIN = 4e-7  # relative L2 error of float32, every plane's; what is asked of ours at 128²
ROUGH = 1e-5  # of a variant that trades digits for speed, which are told beside it

Transform = Callable[[Any, Any], object]
"""Gets what is transformed, and where to."""


def truth(case: Case) -> npt.NDArray[Any]:
    """Return what the different planes of a case become by the definition, in float64."""
    return _truth(case.kind, case.shape, min(case.batch, DISTINCT))


@lru_cache(1)
def _truth(kind: str, shape: Shape, count: int) -> npt.NDArray[Any]:
    planes = drawn(Case(kind, shape, count))
    if kind == "rfft2":
        return np.asarray(fft.rfft2(planes.astype(np.float64), workers=available()))
    size = (shape,) if kind == "irfft2" else ()
    wide = planes.astype(np.complex128)
    return np.asarray(getattr(fft, kind)(wide, *size, workers=available()))


def error(found: Any, wanted: npt.NDArray[Any], scale: float = 1.0) -> float:
    """Return the largest relative L2 error of a plane; NaN where there is one.

    Parameters
    ----------
    found : (B, …)
        NumPy's or CuPy's.
    wanted : (n, …)
        Of the different planes, which come again and again.
    scale : float
        What `found` is multiplied by first.
    """
    xp, count = library(found), len(wanted)
    exact = xp.asarray(wanted)
    length = xp.sqrt((abs(exact) ** 2).sum((-2, -1)))
    worst = []
    for first in range(0, len(found), count):
        part = found[first : first + count]
        away = part.astype(exact.dtype) * scale - exact[: len(part)]
        worst.append((xp.sqrt((abs(away) ** 2).sum((-2, -1))) / length[: len(part)]).max())
    return float(xp.stack(worst).max())


def refuse(off: float, name: str, case: Case, within: float = WITHIN) -> None:
    """Stop the report where a transform is wrong.

    Raises
    ------
    SnellenError
        It names which.
    """
    if not off <= within:
        raise SnellenError(
            f"{name}, {case.kind} of {case.batch} × {case.name}: off by {off:.1e} (relative, L2): "
            "nothing is timed"
        )
