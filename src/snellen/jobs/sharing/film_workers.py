"""The segments of a film in several processes of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.jobs.events import Events, notify
from snellen.jobs.inputs.inputs import is_own
from snellen.jobs.sharing.executors import executor, planned

if TYPE_CHECKING:
    from snellen.jobs.kinds.files import FilmJob
    from snellen.jobs.sharing.executors import Executor
    from snellen.jobs.sharing.tickets import FilmStep, Making
    from snellen.video.media import MediaInfo
    from snellen.video.progress import Meter
    from snellen.video.segments.film import Workers
    from snellen.video.segments.values import Record, SegmentTask


class FilmWorkers:
    """An executor of segments: one of tickets, which are a film's.

    Parameters
    ----------
    executor : Executor
        A Pool, or a Cluster.
    job : UpscaleJob or DeblurJob
    film : FilmStep
    is_shipped : bool
        Whether segments come back as bytes, which this process writes.
    """

    def __init__(
        self, executor: Executor, job: FilmJob, film: FilmStep, is_shipped: bool = False
    ) -> None:
        self._executor, self._job, self._film = executor, job, film
        self._is_shipped = is_shipped
        self._tasks: dict[int, SegmentTask] = {}

    @property
    def slots(self) -> int:
        """How many segments there may be at once, at this moment."""
        return self._executor.slots

    def submit(self, task: SegmentTask, /) -> None:
        """Take a task."""
        from snellen.jobs.sharing.tickets import SegmentTicket

        self._tasks[task.number] = task
        if self._is_shipped:
            task = replace(task, source=task.source.absolute())
        ticket = SegmentTicket(task.number, self._job, task, self._is_shipped, film=self._film)
        self._executor.submit(ticket)

    def wait(self) -> Record:
        """Return the record of the task that ends first, whose files are written."""
        from snellen.video.segments.encode import keep_segment

        done = self._executor.wait()
        task = self._tasks.pop(done.key)
        if done.outputs:
            keep_segment(task, done.outputs)
        record: Record = done.result
        return record


def film_workers(job: FilmJob, make: Making, growth: int, events: Events) -> Workers | None:
    """Return what opens what works on a job's segments elsewhere; None: this process does.

    It does so too, and says it, for an input that no other process can open, as /dev/stdin.

    Parameters
    ----------
    job : UpscaleJob or DeblurJob
    make : callable
        A function of a module: returns the job's step for a film and a device.
    growth : int
        Pixels of the result for each pixel that is read.
    events : Events
        Receives notices and warnings.
    """
    if len(planned(job)) == 1:
        return None
    if isinstance(job.source, Path) and is_own(job.source):
        notify(events, str(job.source), "this process alone has it open, and makes all segments")
        return None
    return partial(_opened, job, make, growth, events)


def sharing(job: FilmJob, name: str) -> tuple[str, ...]:
    """Return the device of each worker of a job, whose prepared step is on the device `name`."""
    found = planned(job)
    return ("cpu",) * len(found) if name == "cpu" else found  # also where a GPU failed


@contextmanager
def _opened(
    job: FilmJob,
    make: Making,
    growth: int,
    events: Events,
    name: str,
    given: MediaInfo,
    bits: int | None,
    meter: Meter,
) -> Iterator[FilmWorkers]:
    from snellen.jobs.sharing.tickets import FilmStep

    with executor(job, sharing(job, name), given.name, "segment", None, events, meter) as runs:
        yield FilmWorkers(runs, job, FilmStep(make, given, bits, growth), job.cluster is not None)
