"""The loop of iterations, with checks of the progress: history, callback, tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.frames.arrays import library
from snellen.mia.backend import Backend
from snellen.mia.result import Step

Callback = Callable[[int, Any, Any], object]
"""Function that is called with the number of iterations done, the estimate f and the PSFs h."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A callback of `deblur` that is also called in the stages that other callbacks do not see."""

    report: Callable[[str, int, int], object]
    """Function that is called with a stage, the iterations done and their number: "prior" estimates
    the PSF, "picture" restores, "channels" restores colours with the PSF of luma."""
    iterations: int
    """Greatest number of iterations of "picture"."""

    def __call__(self, iteration: int, image: Any, psf: Any) -> None:
        """Report an iteration of the stage "picture"."""
        self.report("picture", iteration, self.iterations)


def iterated(
    backend: Backend,
    iterations: int,
    every: int,
    tolerance: float = 0.0,
    callback: Callback | None = None,
    history: bool = False,
) -> tuple[int, tuple[Step, ...]]:
    """Iterate; return the number of iterations done, and the progress at every check.

    Without tolerance, callback and history, all iterations are one call of the backend.

    Parameters
    ----------
    backend : Backend
        A started backend.
    iterations : int
        Greatest number of iterations.
    every : int
        Number of iterations between two checks.
    tolerance : float
        Stop when the change of every picture is less than this; 0: never.
    callback : callable, optional
        Called at each check with the backend's own arrays.
    history : bool
        Whether to return the progress.
    """
    steps: list[Step] = []
    if not (tolerance or callback or history):
        backend.iterate(iterations)
        return iterations, ()
    before = backend.estimate.copy()
    for done in range(every, iterations + 1, every):
        backend.iterate(every)
        change = 0.0
        if tolerance or history:
            change = _change(backend.estimate, before)
            before = backend.estimate.copy()
        if history:
            steps.append(Step(done, float(backend.fit().mean()), change))
        if callback:
            callback(done, backend.estimate, backend.psf)
        if tolerance and change < tolerance:
            return done, tuple(steps)
    if rest := iterations % every:
        backend.iterate(rest)
    return iterations, tuple(steps)


def _change(f: Any, before: Any) -> float:
    """Return the greatest ‖f − before‖ / ‖f‖ of all pictures; it is 0 for a black picture."""
    xp = library(f)
    change, size = (xp.linalg.norm(x.reshape(len(x), -1), axis=1) for x in (f - before, f))
    return float((change / xp.maximum(size, np.finfo(f.dtype).tiny)).max())
