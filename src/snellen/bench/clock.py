"""Times in milliseconds, by the host's clock or between two events of a GPU; memory of a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

BUSY = 4096
"""Side of a matrix product that keeps the GPU busy while the host enqueues a few kernels."""

Work = Callable[[], object]
Clock = Callable[[Work], float]
"""Runs work and returns its milliseconds."""
Spread = dict[str, float]


class Line(NamedTuple):
    """One thing that is timed."""

    work: Work
    before: Work = lambda: None
    """Runs before each time, outside of it."""


def spread(times: Iterable[float]) -> Spread:
    """Return median, least and greatest."""
    kept = list(times)
    return {"median": statistics.median(kept), "min": min(kept), "max": max(kept)}


def host(work: Work) -> float:
    """Return milliseconds of work by the host's clock."""
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def events() -> Clock:
    """Return a clock of what work enqueues on CuPy's current stream, between two events.

    A matrix product keeps the GPU busy while the host enqueues the work, so that the latency of
    launches does not count: that of 512×512 MAD varies by 5 % from process to process.
    """
    import cupy

    before = busy()

    def clock(work: Work) -> float:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        before()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end))

    return clock


def busy(side: int = BUSY) -> Work:
    """Return what keeps the GPU busy for a while: a matrix product on CuPy's current stream."""
    import cupy

    factor = cupy.ones((side, side), cupy.float32)
    product = factor @ factor

    def work() -> None:
        cupy.matmul(factor, factor, out=product)

    return work


def in_rounds(lines: Mapping[str, Line], rounds: int, clock: Clock) -> dict[str, list[float]]:
    """Return the times of each line, after one round that warms up.

    A round times each line once, so that the state of the machine is the same for all of them.
    """
    taken: dict[str, list[float]] = {name: [] for name in lines}
    for number in range(rounds + 1):
        for name, line in lines.items():
            line.before()
            passed = clock(line.work)
            if number:
                taken[name].append(passed)
    return taken


@cache
def stream(device: str) -> Any:
    """Return the one stream of a GPU on which computations are timed.

    CuPy's pool keeps the memory of each stream apart, so one for all cases needs the least.
    """
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def used(device: str) -> int:
    """Return the bytes that CuPy's arrays take on the current GPU; 0 for a CPU."""
    if device == "cpu":
        return 0
    import cupy

    return int(cupy.get_default_memory_pool().used_bytes())


def copy_rate() -> float:
    """Return GB/s, read and written, of a copy of 1 GiB on the current GPU."""
    import cupy

    source = cupy.zeros(1 << 28, cupy.float32)
    target = cupy.empty_like(source)
    copy = Line(lambda: cupy.copyto(target, source))
    taken = in_rounds({"copy": copy}, 10, events())["copy"]
    return float(2 * source.nbytes / statistics.median(taken) / 1e6)
