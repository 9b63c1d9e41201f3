"""The stages of the CPU arm while it works, each with its part of a pair's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from snellen.bench.clock import spread
from snellen.bench.mad.cases import Pair
from snellen.mad import cpu
from snellen.mad.scorer import Scorer

PLACES = {
    "lightness": (("_lightness", cpu.Detection),),
    "FFT of lightness": (("rfft2", "fft"),),
    "inverse FFT of lightness": (("irfft2", "fft"),),
    "masking": tuple((name, "masking") for name in ("tiles", "blocks", "least", "visibility")),
    "local MSE": (("_local_mse", cpu.Detection),),
    "FFT": (("fft2", "fft"),),
    "filter": (("product", "loggabor"),),
    "inverse FFTs": (("ifft2", "fft"),),
    "statistics": (("statistics", cpu),),
    "difference": (("difference", cpu),),
    "score": (("rms", "combine"), ("mad", "combine")),
}
"""What is counted as a stage: names in the CPU arm's file, its classes, and its modules there."""
REST = "rest"  # CSF's product, the maps' product, what lies between
STEPS = (*PLACES, REST)


class Clock:
    """Divides the time that passes among the stages that threads are in."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self._busy: list[str] = []
        self._lock = threading.Lock()
        self._last = time.perf_counter()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Count what the block takes; alone where no other thread is in a stage."""
        self.count(entered=step)
        try:
            yield
        finally:
            self.count(left=step)

    def count(self, entered: str | None = None, left: str | None = None) -> None:
        """Divide what has passed since the last call; then enter or leave a stage."""
        with self._lock:
            now = time.perf_counter()
            for step in self._busy or [REST]:
                self.seconds[step] += (now - self._last) / max(1, len(self._busy))
            self._last = now
            if entered:
                self._busy.append(entered)
            if left:
                self._busy.remove(left)


def measure(given: Pair, dtype: str, repeats: int) -> dict[str, Any]:
    """Return milliseconds of each stage of a pair on all threads; they add up to the pair."""
    found: dict[str, list[float]] = {name: [] for name in STEPS}
    with Scorer(device="cpu", dtype=dtype) as scorer:
        scorer.prepare(replace(given.format, white=given.peak))
        for repeat in range(repeats + 1):
            with watched() as clock:
                scorer.run(given.reference, given.distorted)
                clock.count()
            for name, seconds in clock.seconds.items() if repeat else ():  # the first warms up
                found[name].append(1e3 * seconds)
    return {name: spread(taken) for name, taken in found.items()}


@contextmanager
def watched() -> Iterator[Clock]:
    """Count the stages of the CPU arm for a while."""
    clock = Clock()
    with ExitStack() as stack:
        for step, places in PLACES.items():
            for name, holder in places:
                stack.enter_context(_counted(clock, step, name, holder))
        yield clock


@contextmanager
def _counted(clock: Clock, step: str, name: str, holder: Any) -> Iterator[None]:
    """Count the calls of one function, by its name in `holder` or in a module that cpu.py uses.

    A module is not changed itself: others use it, too.
    """
    original = None
    if isinstance(holder, str):
        module, original = holder, getattr(cpu, holder)
        holder = SimpleNamespace(**vars(original))
        setattr(cpu, module, holder)
    function = getattr(holder, name)

    def counting(*arguments: Any, **options: Any) -> Any:
        with clock(step):
            return function(*arguments, **options)

    setattr(holder, name, counting)
    try:
        yield
    finally:
        setattr(holder, name, function)
        if original is not None:
            setattr(cpu, module, original)
