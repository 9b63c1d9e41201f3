"""What runs the tasks of segments: a Protocol, and the executor of this process."""

from __future__ import annotations

from typing import Protocol

from snellen.video.progress import Meter
from snellen.video.segments.encode import encode_segment
from snellen.video.segments.values import Record, SegmentTask
from snellen.video.step import RateStep, Step


class Executor(Protocol):
    """Runs tasks, here or elsewhere; called from one thread."""

    @property
    def slots(self) -> int:
        """How many tasks there may be at once; asked anew before each."""
        ...

    def submit(self, task: SegmentTask) -> None:
        """Take a task; there are fewer than `slots`."""
        ...

    def wait(self) -> Record:
        """Return the record of one of the tasks, whichever ends first, and forget it.

        Raises
        ------
        SnellenError
            A task has failed for good.
        """
        ...


class Here:
    """Runs one task at a time, in this process.

    Parameters
    ----------
    step : Step or RateStep
        Prepared.
    meter : Meter
        Counts the frames.
    """

    slots = 1

    def __init__(self, step: Step | RateStep, meter: Meter) -> None:
        self._step, self._meter = step, meter
        self._tasks: list[SegmentTask] = []

    def submit(self, task: SegmentTask) -> None:
        """Take a task."""
        self._tasks.append(task)

    def wait(self) -> Record:
        """Run the task, and return its record."""
        return encode_segment(self._tasks.pop(), self._step, self._meter)
