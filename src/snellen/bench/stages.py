"""The stages of the GPU's composer, looked at while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from snellen.bench.clock import Line, spread

STAGES = ("features", "match", "group", "regress", "overlap")
AHEAD = 8192  # side of a product that keeps the GPU busy while the host enqueues what is timed

Before = Callable[[], None]
After = Callable[[tuple[Any, ...]], None]
"""Gets the arguments of the call that is over."""


class Watched:
    """A stage, and what is done before and after each of its calls."""

    def __init__(self, stage: Any, before: Before, after: After):
        self._stage, self._before, self._after = stage, before, after

    def __call__(self, *arguments: Any, **options: Any) -> None:
        """Do the stage's work."""
        self._before()
        self._stage(*arguments, **options)
        self._after(arguments)

    def __getattr__(self, name: str) -> Any:
        """Return the stage's own attribute."""
        return getattr(self._stage, name)


@contextmanager
def watched(holder: Any, name: str, before: Before, after: After) -> Iterator[None]:
    """Watch the stage that `holder` keeps as `name`."""
    stage = getattr(holder, name)
    setattr(holder, name, Watched(stage, before, after))
    try:
        yield
    finally:
        setattr(holder, name, stage)


def times(luma: Any, line: Line, repeats: int) -> dict[str, Any]:
    """Return milliseconds of each stage of a frame, bands added up: median, min and max.

    The GPU is kept busy first, so that no event waits for the host. `match` counts without
    `settle`, the float32 scores of the patches that it lists, where the two can be told apart.
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
    holders = {name: (luma, name) for name in STAGES}
    if getattr(luma.match, "settle", None) is not None:
        holders["settle"] = (luma.match, "settle")
    with ExitStack() as stack:
        for name, (holder, attribute) in holders.items():
            stack.enter_context(
                watched(holder, attribute, partial(mark, name), partial(mark, name))
            )
        line()
        for _ in range(repeats):
            marks.clear()
            cupy.matmul(busy, busy, out=product)
            line()
            cupy.cuda.get_current_stream().synchronize()
            for name, milliseconds in _elapsed(marks).items():
                found.setdefault(name, []).append(milliseconds)
    return {name: spread(found[name]) for name in (*STAGES[:2], "settle", *STAGES[2:])
            if name in found}  # fmt: skip


def rescored(luma: Any, line: Line) -> float:
    """Return the share of a frame's patches that float32 scores again."""
    seen: list[tuple[int, int]] = []

    def note(arguments: tuple[Any, ...]) -> None:
        _, index, listed = arguments[:3]
        seen.append((int(listed[0]), len(index)))

    with watched(luma, "match", lambda: None, note):
        line()
    return sum(listed for listed, _ in seen) / sum(patches for _, patches in seen)


def _elapsed(marks: dict[str, list[Any]]) -> dict[str, float]:
    """Return the milliseconds between the marks of each stage; match without `settle`."""
    import cupy

    found = {
        name: sum(
            cupy.cuda.get_elapsed_time(before, after)
            for before, after in zip(events[::2], events[1::2], strict=True)
        )
        for name, events in marks.items()
    }
    found["match"] -= found.get("settle", 0.0)
    return found
