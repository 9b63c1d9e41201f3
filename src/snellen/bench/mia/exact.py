"""Whether restored pictures are right, before any time is told; the paper's first table."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from snellen.bench.mia import cases, plain
from snellen.bench.mia.cases import ITERATIONS, PLAIN, Case, Option, Problem
from snellen.errors import SnellenError

WITHIN = {"float32": 1e-4, "float64": 1e-9}
"""What f and h may be off after all iterations, of their peaks: float32 as is asked of MIA (the
paper: 2e-3), float64 as both sides round."""
PAPER = 0.2  # % of the peak by which Yan, Su et al. differ from MATLAB, at most

Say = Callable[[str], None]


class Arm(Protocol):
    """What restores a batch: ours, and other lines."""

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Take what came, and where to start from."""

    def iterate(self, count: int) -> None:
        """Do so many iterations."""

    @property
    def estimate(self) -> Any:
        """(B, H, W)."""

    @property
    def psf(self) -> Any:
        """(B, M, H, W)."""


@cache
def truth(
    side: int, option: Option = PLAIN, count: int = ITERATIONS
) -> tuple[plain.Float64, plain.Float64]:
    """Return f (H, W) and h (M, H, W) of `cases.problem` by the plain port, in float64."""
    given = cases.problem(side, option)
    y, f, h = (array[0].astype(np.float64) for array in (given.y, given.f, given.h))
    return plain.restore(y, f, h, count, option.definition)


def check(
    arm: Arm,
    given: Problem,
    case: Case,
    name: str,
    option: Option = PLAIN,
    *,
    dtype: str = "float32",
    count: int = ITERATIONS,
) -> dict[str, Any]:
    """Restore a batch and return by how much it is off float64, of the peak; all pictures count.

    Parameters
    ----------
    arm : Arm
    given : Problem
        `cases.shifted`, on the arm's device.
    case : Case
    name : str
        The arm's, in tables.
    option : Option
    dtype : str
        What it computes in.
    count : int
        Iterations.

    Raises
    ------
    SnellenError
        Too much: nothing may be timed.
    """
    arm.start(given.y, given.f, given.h)
    arm.iterate(count)
    row = apart(host(arm.estimate), host(arm.psf), *truth(case.side, option, count))
    faults = [f"{what} off by {row[key]:.1e} of its peak"
              for what, key in (("the picture", "max"), ("the PSF", "psf"))
              if not row[key] <= WITHIN[dtype]]  # fmt: skip
    if faults:
        raise SnellenError(
            f"{name}, {case.name}, {option.name}, {case.batch} at once: {', '.join(faults)}: "
            "nothing is timed"
        )
    return {"case": case.name, "batch": case.batch, "option": option.name, "arm": name,
            "dtype": dtype, "iterations": count, **row}  # fmt: skip


def apart(
    sharp: npt.NDArray[Any], psf: npt.NDArray[Any], f: plain.Float64, h: plain.Float64
) -> dict[str, float]:
    """Return how a batch of `cases.shifted` differs from f and h: most, mean; and of the PSF most.

    Of the peaks; NaN where there is one.
    """
    most, means = [], []
    for number, plane in enumerate(sharp):
        away = np.abs(np.roll(plane, [-by for by in cases.shift(number, len(plane))], (0, 1)) - f)
        most.append(away.max() / f.max())
        means.append(away.mean() / f.max())
    blur = np.abs(psf - h).max() / h.max()
    return {"max": float(np.max(most)), "mean": float(np.mean(means)), "psf": float(blur)}


def host(array: Any) -> npt.NDArray[Any]:
    """Return an array of NumPy, CuPy or PyTorch as NumPy's."""
    array = array.cpu().numpy() if hasattr(array, "cpu") else array
    return np.asarray(array.get() if hasattr(array, "get") else array)


def told(row: dict[str, Any]) -> str:
    """Return one line of what was found."""
    what = f"{row['arm']}, {row['case']}, {row['option']}, {row['batch']} at once"
    return (f"  right: {what:<62} {100 * row['max']:.1e} % at most, {100 * row['mean']:.1e} % on "
            f"average, PSF {100 * row['psf']:.1e} %")  # fmt: skip
