"""MAD on the GPU: a pair between events, stage by stage, to the score, and its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from snellen.bench import stock as stocks
from snellen.bench.clock import evented, sustained, timed
from snellen.bench.gpu import PER_REPEAT, free
from snellen.bench.mad import roofline, stages, stock
from snellen.bench.mad.cases import Case, Pair, pair
from snellen.errors import SnellenError
from snellen.gpu.memory import pinned
from snellen.mad.definition import Definition
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

Say = Callable[[str], None]


class Lines:
    """What is timed of an arm, for planes that lie on its GPU already: each enqueues only."""

    def __init__(self, arm: Any, reference: Any, distorted: Any):
        from snellen.mad.cuda.backend import stage

        self.arm = arm
        self._both = partial(stage, reference, distorted, arm.samples)
        self._first = partial(stage, reference, None, arm.samples)
        self._second = partial(stage, None, distorted, arm.samples)

    def hold(self) -> None:
        """Do the reference's half."""
        self._first()
        self.arm.run_reference()

    def against(self) -> None:
        """Do the distorted picture's half, to the score in the GPU's memory."""
        self._second()
        self.arm.run_comparison()

    def whole(self) -> None:
        """Do a pair, likewise."""
        self._both()
        self.arm.run_pair()

    def score(self) -> Score:
        """Return what was compared last."""
        score: Score = self.arm.answer(maps=False, host=True)()[0]
        return score


@contextmanager
def made(given: Pair, device: str, graphs: bool) -> Iterator[Lines]:
    """Make an arm for a pair, and give its memory back."""
    import cupy

    from snellen.mad.cuda.backend import Backend

    arm = Backend(Definition(), given.format, given.peak, device, graphs=graphs)
    with closing(arm):
        yield Lines(arm, cupy.asarray(given.reference), cupy.asarray(given.distorted))
    free()


def measure(case: Case, device: str, repeats: int, say: Say) -> dict[str, Any]:
    """Return milliseconds of one case: launches, graph, halves, stages, to the score; memory."""
    import cupy

    given, often = pair(case), PER_REPEAT * repeats
    with cupy.cuda.Stream(non_blocking=True):
        with made(given, device, graphs=False) as lines:
            row: dict[str, Any] = {"case": case.name, "launches": evented(lines.whole, often)}
            ours = lines.score()
            row["real_bytes"] = lines.arm.appearance.differences.dtype.itemsize
            row["stages"] = stages.times(lines.arm, often)
            row["kernels"] = roofline.kernels(lines.arm)
        with made(given, device, graphs=True) as lines:
            row |= recorded(lines, ours, often)
    row |= {"memory_mb": memory(given, device)}
    row |= ends(given, device, often)
    say(f"\n{case.name}, a pair of 8 bit\n  {told(row)}")
    for name, taken in row["stages"].items():
        say(f"    {name:<25} {taken['median']:8.3f} ms  ({taken['min']:.3f} … {taken['max']:.3f})")
    for name, takes in row["kernels"].items():
        say(f"    {name}: {roofline.told(takes)}")
    say(f"  memory of the GPU: {row['memory_mb']['pool']:.0f} MB of arrays and transforms")
    return row | beside(given, device, ours, row["graph"]["median"], repeats, say)


def recorded(lines: Lines, ours: Score, repeats: int) -> dict[str, Any]:
    """Return milliseconds by graphs: a pair, each half, and pairs back to back.

    Raises
    ------
    SnellenError
        The graphs give another score than the launches.
    """
    found: dict[str, Any] = {"graph": evented(lines.whole, repeats)}
    if lines.arm.run_pair == lines.arm._whole_pair:
        found["no_graph"] = "CUDA did not record it: these are launches, too"
    if (score := lines.score()) != ours:
        raise SnellenError(f"the graph's score is {score}, that of launches {ours}")
    found["hold"], found["against"] = evented(lines.hold, repeats), evented(lines.against, repeats)
    found["sustained"] = sustained(lines.whole, 2 * repeats)
    return found


def memory(given: Pair, device: str) -> dict[str, float]:
    """Return MB of the GPU that a prepared Scorer holds: CuPy's, and all that the driver lost."""
    import cupy

    pool = cupy.get_default_memory_pool()
    free()
    used, before = pool.used_bytes(), cupy.cuda.runtime.memGetInfo()[0]
    with Scorer(device=device) as scorer:
        scorer.prepare(replace(given.format, white=given.peak))
        scorer.run(given.reference, given.distorted)
        found = {
            "pool": (pool.used_bytes() - used) / 1e6,
            "driver": (before - cupy.cuda.runtime.memGetInfo()[0]) / 1e6,
        }
    free()
    return found


def ends(given: Pair, device: str, repeats: int) -> dict[str, Any]:
    """Return milliseconds by the host's clock, to a score in Python: from the GPU, from the host.

    And those of the transfers alone: both planes up, the score's 24 bytes down.
    """
    import cupy

    from snellen.mad.cuda.backend import stage

    host = (given.reference, given.distorted)
    page_locked = tuple(pinned(plane.shape, plane.dtype) for plane in host)
    for locked, plane in zip(page_locked, host, strict=True):
        np.copyto(locked, plane)
    with Scorer(device=device) as scorer, cupy.cuda.Stream(non_blocking=True):
        scorer.prepare(replace(given.format, white=given.peak))
        arm: Any = scorer._backend

        todo: dict[str, Callable[[], object]] = {
            "from GPU": partial(scorer.run, *map(cupy.asarray, host)),
            "from host": partial(scorer.run, *host),
            "from host, page-locked": partial(scorer.run, *page_locked),
            "upload": partial(stage, *host, arm.samples),
            "download": lambda: arm.answer(maps=False, host=True)(),
        }
        found = {name: milliseconds(work, repeats) for name, work in todo.items()}
    free()
    moved = found["upload"]["median"] + found["download"]["median"]
    return {"ends": found, "transfers_share": moved / found["from host"]["median"]}


def milliseconds(work: Callable[[], object], repeats: int) -> dict[str, Any]:
    """Return median, min and max by the host's clock."""
    return {key: 1e3 * seconds for key, seconds in timed(work, repeats).items()}


def beside(
    given: Pair, device: str, ours: Score, best: float, repeats: int, say: Say
) -> dict[str, Any]:
    """Return PyTorch's lines and by how many times ours is faster, or why there are none."""
    try:
        if not stocks.torch().cuda.is_available():
            raise ImportError("PyTorch is here, but sees no GPU")
    except ImportError as error:
        say(f"  PyTorch's lines are left out: {error}")
        return {"no_stock": str(error)}
    found = stock.measure(given, ours, 2 * repeats, say, device)
    found["ratios"] = {name: line["median"] / best for name, line in found["lines"].items()}
    say("  " + ", ".join(f"{ratio:.1f} × {name}" for name, ratio in found["ratios"].items()))
    return {"stock": found}


def told(row: dict[str, Any]) -> str:
    """Return the figures of a pair on two lines."""
    names = ("launches", "graph", "hold", "against")
    found = [f"{name} {row[name]['median']:.3f} ms ({row[name]['min']:.3f} … "
             f"{row[name]['max']:.3f})" for name in names]  # fmt: skip
    ends = [f"{name} {taken['median']:.3f}" for name, taken in row["ends"].items()]
    return (f"{', '.join(found)}, back to back {row['sustained']:.3f} ms\n  by the host's clock, "
            f"ms: {', '.join(ends)} (transfers {100 * row['transfers_share']:.0f} %)")  # fmt: skip
