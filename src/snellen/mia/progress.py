"""The loop of iterations, with checks of the progress: history, callback, tolerance."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snellen.mia.backend import Backend, Float64, Later, no_fit
from snellen.mia.result import Step

Callback = Callable[[int, Any, Any], object]
"""Function that is called with the number of iterations done, the estimate f and the PSFs h."""

WAITING = 64
"""Checks whose results a GPU may still owe: they hold its memory."""


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

    def part(self, number: int, count: int) -> Watch:
        """Return the Watch of one of `count` batches, which are restored one after another."""
        report, before = self.report, number * self.iterations

        def of_all(stage: str, done: int, total: int) -> None:
            report(stage, before + done, count * total)

        return Watch(of_all, self.iterations)


def part_of(callback: Callback | None, number: int, count: int) -> Callback | None:
    """Return the callback of one of `count` batches: a part of a Watch, else the same."""
    return callback.part(number, count) if isinstance(callback, Watch) else callback


def iterated(
    backend: Backend, iterations: int, every: int, tolerance: float = 0.0,
    callback: Callback | None = None, history: bool = False,
) -> tuple[int, Later[tuple[Step, ...]]]:  # fmt: skip
    """Iterate; return the number of iterations done, and what waits for the steps of every check.

    Without tolerance, callback and history, all iterations are one call of the started backend.
    With history alone nothing waits for a GPU until all iterations are queued, WAITING checks at
    most. A check comes after every `every` iterations; it calls `callback` with the backend's own
    arrays, and ends all where each picture changes by less than `tolerance` (0: never).
    """
    if not (tolerance or callback or history):
        backend.iterate(iterations)
        return iterations, tuple
    steps: list[Step] = []
    waiting: deque[tuple[int, Later[Float64], Later[float]]] = deque()
    check = backend.checks() if tolerance or history else None
    done = 0
    while done + every <= iterations:
        backend.iterate(every)
        done += every
        fit, change = check(history) if check else (no_fit, lambda: 0.0)
        if history:
            waiting.append((done, fit, change))
            if len(waiting) > WAITING:
                steps.append(_step(*waiting.popleft()))
        if callback:
            callback(done, backend.estimate, backend.psf)
        if tolerance and change() < tolerance:
            break
    else:
        if rest := iterations - done:
            backend.iterate(rest)
        done = iterations
    return done, lambda: (*steps, *(_step(*one) for one in waiting))


def _step(iteration: int, fit: Later[Float64], change: Later[float]) -> Step:
    return Step(iteration, float(fit().mean()), change())
