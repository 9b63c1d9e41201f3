"""The stages of the GPU arm, looked at while they work one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from snellen.bench.clock import spread
from snellen.bench.stages import AHEAD, Watched

PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "lightness": (("_detection._lightness", "light"), ("_detection._lightness", "error")),
    "FFT of lightness": (("_detection", "_forward"),),
    "csf": (("_detection", "_csf"),),
    "inverse FFT of lightness": (("_detection", "_back"),),
    "block statistics": (("_detection._masking", "describe"),),
    "visibility": (("_detection._masking", "visibility"),),
    "seen": (("_combine", "seen"),),
    "grey": (("appearance._lightness", "grey"),),
    "FFT": (("appearance", "_forward"),),
    "bank": (("appearance", "_bank"),),
    "inverse FFTs": (("appearance", "_inverse"),),
    "statistics": (("appearance._statistics", "describe"),),
    "difference": (("appearance._statistics", "compare"),),
    "looks": (("_combine", "looks"),),
    "score": (("_combine", "score"),),
}
"""Each stage: where it hangs in the arm, and its name there."""
REST = "rest"  # what the arm does beyond these
STAGES = (*PLACES, REST)


def line(arm: Any) -> None:
    """Do all of a pair's stages on one stream; the arm itself has two, one for each half of MAD."""
    reference, distorted = arm.samples
    arm._detection.set_reference(reference)
    arm.appearance.set_reference(reference)
    arm._detection.compare(reference, distorted)
    arm.appearance.compare(distorted)
    arm._finish()


def times(arm: Any, repeats: int) -> dict[str, Any]:
    """Return milliseconds of each stage of a pair, both halves added up: median, min and max.

    The GPU is kept busy first, so that no event waits for the host.
    """
    import cupy

    marks: dict[str, list[Any]] = {}

    def mark(name: str, arguments: tuple[Any, ...] = ()) -> None:
        event = cupy.cuda.Event()
        event.record()
        marks.setdefault(name, []).append(event)

    busy = cupy.ones((AHEAD, AHEAD), cupy.float32)
    product = busy @ busy
    found: dict[str, list[float]] = {}
    with watched(arm, mark):
        line(arm)
        for _ in range(repeats):
            marks.clear()
            cupy.matmul(busy, busy, out=product)
            mark(REST)
            line(arm)
            mark(REST)
            cupy.cuda.get_current_stream().synchronize()
            taken = elapsed(marks)
            taken[REST] = 2 * taken[REST] - sum(taken.values())
            for name, milliseconds in taken.items():
                found.setdefault(name, []).append(milliseconds)
    return {name: spread(found[name]) for name in STAGES if name in found}


def elapsed(marks: dict[str, list[Any]]) -> dict[str, float]:
    """Return the milliseconds between each stage's marks, its calls added up."""
    import cupy

    return {
        name: sum(
            cupy.cuda.get_elapsed_time(before, after)
            for before, after in zip(events[::2], events[1::2], strict=True)
        )
        for name, events in marks.items()
    }


@contextmanager
def watched(arm: Any, mark: Any) -> Iterator[None]:
    """Call `mark` with a stage's name before and after each of its calls."""
    with ExitStack() as stack:
        for name, places in PLACES.items():
            for path, attribute in places:
                holder = arm
                for part in path.split("."):
                    holder = getattr(holder, part)
                for one in holder.values() if isinstance(holder, dict) else [holder]:
                    stack.enter_context(_watched(one, attribute, partial(mark, name)))
        yield


@contextmanager
def _watched(holder: Any, name: str, mark: Any) -> Iterator[None]:
    """Watch what `holder` keeps as `name`: a stage, or one for each number of subbands."""
    kept = getattr(holder, name)
    if isinstance(kept, dict):
        seen: Any = {key: Watched(stage, mark, mark) for key, stage in kept.items()}
    else:
        seen = Watched(kept, mark, mark)
    setattr(holder, name, seen)
    try:
        yield
    finally:
        setattr(holder, name, kept)
