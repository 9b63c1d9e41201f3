"""Lines that are timed in turns, so that the machine is the same for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import Any, NamedTuple

from snellen.bench.clock import spread
from snellen.gpu.graph import record

AHEAD = 4096  # side of a product that keeps the GPU busy while the host enqueues what is timed

Work = Callable[[], object]
Clock = Callable[[Work], float]


class Line(NamedTuple):
    """What is timed, and what is done before each time."""

    before: Work
    work: Work


def in_turns(lines: Mapping[str, Line], rounds: int, clock: Clock) -> dict[str, list[float]]:
    """Return the times of each line, round by round, after a round that warms up."""
    taken: dict[str, list[float]] = {name: [] for name in lines}
    for number in range(rounds + 1):
        for name, line in lines.items():
            line.before()
            passed = clock(line.work)
            if number:
                taken[name].append(passed)
    return taken


def beside(taken: Mapping[str, list[float]], ours: str) -> dict[str, Any]:
    """Return median, min and max of each line, and of how many times as long as ours it takes.

    Ratios are taken round by round.
    """
    return {
        name: spread(times)
        | {"ratio": spread(other / own for other, own in zip(times, taken[ours], strict=True))}
        for name, times in taken.items()
    }


def milliseconds(work: Work) -> float:
    """Return milliseconds of work by the host's clock."""
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def gpu_clock() -> Clock:
    """Return a clock of work on CuPy's current stream: milliseconds between two events.

    The GPU is kept busy first, so that it has not to wait for the host, and its clock is up.
    """
    import cupy

    busy = cupy.ones((AHEAD, AHEAD), cupy.float32)
    product = busy @ busy

    def clock(work: Work) -> float:
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.matmul(busy, busy, out=product)
        before.record()
        work()
        after.record()
        after.synchronize()
        return float(cupy.cuda.get_elapsed_time(before, after))

    return clock


class Recorded:
    """A launch of what some work enqueues, as one CUDA graph; made on the stream it is launched on.

    Scratch that the work allocates is the graph's own, so that nobody else gets it meanwhile.

    Raises
    ------
    Exception
        Something in it cannot be captured.
    """

    def __init__(self, work: Work):
        import cupy

        self._memory = cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(self._memory.malloc):
            self._launch = record(work)

    def __call__(self) -> None:
        """Launch it."""
        self._launch()


def percentile(times: Iterable[float], share: float) -> float:
    """Return the least time that so large a share of them does not exceed."""
    ordered = sorted(times)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
