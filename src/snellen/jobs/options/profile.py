"""Times of the stages of a run, as part of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class StageTimes:
    """The time of one stage of a method."""

    stage: str
    """Name of the stage, as in the method's page: "features", "match" …"""
    ms: tuple[float, ...]
    """Milliseconds of each of its runs: by CUDA events on a GPU, else by the clock."""

    @property
    def total(self) -> float:
        """Milliseconds of all runs together."""
        return sum(self.ms)

    @property
    def middle(self) -> float:
        """Median of the runs in milliseconds; 0 without a run."""
        return median(self.ms) if self.ms else 0.0


Profile = tuple[StageTimes, ...]
"""All stages, in the order in which they first ran."""


@contextmanager
def recorded(wanted: bool) -> Iterator[Callable[[], Profile | None]]:
    """Record the stages inside of the `with` block; yield what returns them, None if not wanted."""
    if not wanted:
        yield lambda: None
        return
    from snellen.gpu import profile

    with profile.recording() as found:
        yield lambda: tuple(StageTimes(name, tuple(ms)) for name, ms in found.table().items())
