"""The segments of a film in several processes of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.jobs.events import Events, notify
from snellen.jobs.executors import executor, planned
from snellen.jobs.inputs import is_own

if TYPE_CHECKING:
    from snellen.jobs.executors import Executor
    from snellen.jobs.files import FilmJob
    from snellen.jobs.tickets import FilmTicket, Making
    from snellen.video.media import MediaInfo
    from snellen.video.progress import Meter
    from snellen.video.segments.film import Workers
    from snellen.video.segments.values import Record, SegmentTask


class FilmWorkers:
    """An executor of segments: processes, whose tickets are a film's.

    Parameters
    ----------
    pool : Executor
        A Pool.
    film : FilmTicket
    """

    def __init__(self, pool: Executor, film: FilmTicket) -> None:
        self._pool, self._film = pool, film

    @property
    def slots(self) -> int:
        """How many segments there may be at once."""
        return self._pool.slots

    def submit(self, task: SegmentTask) -> None:
        """Take a task."""
        from snellen.jobs.tickets import SegmentTicket

        self._pool.submit(SegmentTicket(self._film, task))

    def wait(self) -> Record:
        """Return the record of the task that ends first."""
        record: Record = self._pool.wait()
        return record


class FilmCluster:
    """An executor of segments: tasks of a cluster, which return what this process writes.

    Parameters
    ----------
    cluster : Executor
        A Cluster.
    film : FilmTicket
    """

    def __init__(self, cluster: Executor, film: FilmTicket) -> None:
        self._cluster, self._film = cluster, film
        self._tasks: dict[int, SegmentTask] = {}

    @property
    def slots(self) -> int:
        """How many segments there may be at once, at this moment."""
        return self._cluster.slots

    def submit(self, task: SegmentTask) -> None:
        """Take a task."""
        from snellen.jobs.cluster_task import ShippedTicket

        self._tasks[task.number] = task
        far = replace(task, source=task.source.absolute())
        self._cluster.submit(ShippedTicket(self._film, far))

    def wait(self) -> Record:
        """Write the segment that ends first, and return its record."""
        from snellen.video.segments.encode import keep_segment

        found = self._cluster.wait()
        record: Record = found.record
        keep_segment(self._tasks.pop(record.number), found.packets, found.notes)
        return record


def film_workers(job: FilmJob, make: Making, growth: int, events: Events) -> Workers | None:
    """Return what opens what works on a job's segments elsewhere; None: this process does.

    It does so too, and says it, for an input that no other process can open, as /dev/stdin.

    Parameters
    ----------
    job : UpscaleJob or DeblurJob
    make : callable
        A function of a module: returns the job's step for a device.
    growth : int
        Pixels of the result for each pixel that is read.
    events : Events
        Receives notices and warnings.
    """
    if job.cluster is None and len(planned(job.device, job.workers)) < 2:
        return None
    if isinstance(job.source, Path) and is_own(job.source):
        notify(events, str(job.source), "this process alone has it open, and makes all segments")
        return None
    return partial(_opened, job, make, growth, events)


def sharing(job: FilmJob, name: str) -> tuple[str, ...]:
    """Return the device of each worker of a job, whose prepared step is on the device `name`."""
    found = planned(job.device, job.workers)
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
) -> Iterator[FilmWorkers | FilmCluster]:
    from snellen.jobs.tickets import FilmTicket

    is_far = job.cluster is not None
    devices = () if is_far else sharing(job, name)
    with executor(job, devices, given.name, "segment", None, events, meter) as runs:
        film = FilmTicket(make, job, given, bits, growth)
        yield FilmCluster(runs, film) if is_far else FilmWorkers(runs, film)
