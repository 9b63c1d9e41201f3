"""Iterations, with looks at how far they are: history, callback, stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library
from snellen.mia.result import Step

Callback = Callable[[int, Any, Any], object]
"""Called with the iteration, f and h."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A callback of `deblur` that hears of every stage, others of the iterations of one only."""

    tell: Callable[[str, int, int], object]
    """Called with a stage, how much of it is done, and of how much: "prior" in turns; in iterations
    "picture", and "channels" with the PSF that was found of luma."""
    iterations: int
    """At most."""

    def __call__(self, iteration: int, image: Any, psf: Any) -> None:
        """Tell of an iteration, as a callback."""
        self.tell("picture", iteration, self.iterations)


class Backend(Protocol):
    """What iterates: `cpu.Backend`, `cuda.backend.Backend`, `cuda.whole.Backend`."""

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Take what came and where to start from, as copies."""
        ...

    def iterate(self, count: int) -> None:
        """Do so many iterations of all pictures."""
        ...

    @property
    def estimate(self) -> Any:
        """The pictures f (B, H, W), until the next call."""
        ...

    @property
    def psf(self) -> Any:
        """Their PSFs h (B, M, H, W), each of sum 1, likewise."""
        ...

    def fit(self) -> npt.NDArray[np.float64]:
        """Return how far y is from h ⊛ f: (B,)."""
        ...

    def close(self) -> None:
        """Give back threads and buffers."""
        ...


def iterated(
    backend: Backend,
    iterations: int,
    every: int,
    tolerance: float = 0.0,
    callback: Callback | None = None,
    history: bool = False,
) -> tuple[int, tuple[Step, ...]]:
    """Iterate; return how many iterations were done, and what every look found.

    Parameters
    ----------
    backend : Backend
        Started.
    iterations : int
        At most.
    every : int
        Iterations between looks.
    tolerance : float
        Stop when no picture's change is as large; 0: never.
    callback : callable, optional
        Called at each look with the backend's own arrays.
    history : bool
        Whether to return steps. Where nobody looks, all is one call of the backend.
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
    """Return the greatest ‖f − before‖ / ‖f‖ of the pictures; that of a black one is 0."""
    xp = library(f)
    away, size = (xp.linalg.norm(x.reshape(len(x), -1), axis=1) for x in (f - before, f))
    return float((away / xp.maximum(size, np.finfo(f.dtype).tiny)).max())
