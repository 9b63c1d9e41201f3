"""Times: medians with their spread, by the host's clock or between two events of the GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

Line = Callable[[], object]
"""What is timed."""


def spread(times: Iterable[float]) -> dict[str, Any]:
    """Return median, least and most."""
    kept = list(times)
    return {"median": statistics.median(kept), "min": min(kept), "max": max(kept)}


def timed(line: Line, repeats: int) -> dict[str, Any]:
    """Return median, min and max seconds of `repeats` runs after one to warm up."""
    line()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        line()
        times.append(time.perf_counter() - start)
    return spread(times)


def evented(line: Line, repeats: int) -> dict[str, Any]:
    """Return median, min and max milliseconds on CuPy's current stream, each run waited for.

    What `line` enqueues lies between two events; the host's time counts where the GPU waits.
    """
    import cupy

    line()
    times = []
    for _ in range(repeats):
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        before.record()
        line()
        after.record()
        after.synchronize()
        times.append(cupy.cuda.get_elapsed_time(before, after))
    return spread(times)


def sustained(line: Line, runs: int) -> float:
    """Return milliseconds a run, `runs` enqueued back to back between two events."""

    def all_runs() -> None:
        for _ in range(runs):
            line()

    return float(evented(all_runs, 3)["median"]) / runs


def copy_rate() -> float:
    """Return GB/s, read and written, of a copy of 1 GiB on the GPU."""
    import cupy

    source = cupy.zeros(1 << 28, cupy.float32)
    target = cupy.empty_like(source)
    taken = evented(lambda: cupy.copyto(target, source), 10)["median"]
    return float(2 * source.nbytes / taken / 1e6)
