"""The segments of a film in several processes of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Protocol

from snellen.cpu.threads import available
from snellen.gpu import device as devices
from snellen.jobs.events import Events, notify
from snellen.video.messages import counted

if TYPE_CHECKING:
    from snellen.jobs.cluster import Cluster
    from snellen.jobs.pool import Pool
    from snellen.jobs.tickets import FilmJob, FilmTicket, Making
    from snellen.video.media import MediaInfo
    from snellen.video.progress import Meter
    from snellen.video.segments.film import Workers
    from snellen.video.segments.values import Record, SegmentTask

    class WorkedJob(FilmJob, Protocol):
        """What is needed of a job, to share its segments."""

        @property
        def device(self) -> str: ...  # noqa: D102
        @property
        def workers(self) -> int | None: ...  # noqa: D102
        @property
        def cluster(self) -> str | None: ...  # noqa: D102
        @property
        def threads(self) -> int | None: ...  # noqa: D102


class FilmWorkers:
    """An executor of segments: processes, whose tickets are a film's.

    Parameters
    ----------
    pool : Pool
    film : FilmTicket
    """

    def __init__(self, pool: Pool, film: FilmTicket) -> None:
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
    cluster : Cluster
    film : FilmTicket
    """

    def __init__(self, cluster: Cluster, film: FilmTicket) -> None:
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


def film_workers(job: WorkedJob, make: Making, growth: int, events: Events) -> Workers | None:
    """Return what opens what works on a job's segments elsewhere; None: this process does.

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
    if job.cluster is not None:
        return partial(_far, job.cluster, job, make, growth, events)
    if len(planned(job.device, job.workers)) < 2:
        return None
    return partial(_opened, job, make, growth, events)


def planned(device: str, workers: int | None) -> tuple[str, ...]:
    """Return the device of each worker of a job.

    Raises
    ------
    DeviceError
        A device cannot be used.
    """
    names = devices.names(device)
    if workers is None and len(names) == 1 and names[0] != devices.ALL:
        return (device,)
    found = devices.several(device)
    return tuple(islice(cycle(found), workers or len(found)))


def sharing(job: WorkedJob, name: str) -> tuple[str, ...]:
    """Return the device of each worker of a job, whose prepared step is on the device `name`."""
    found = planned(job.device, job.workers)
    return ("cpu",) * len(found) if name == "cpu" else found  # also where a GPU failed


def share(workers: tuple[str, ...]) -> int:
    """Return the CPU threads of each worker."""
    return max(1, available() // len(workers))


@contextmanager
def _opened(
    job: WorkedJob,
    make: Making,
    growth: int,
    events: Events,
    name: str,
    given: MediaInfo,
    bits: int | None,
    meter: Meter,
) -> Iterator[FilmWorkers]:
    from snellen.jobs.pool import Pool
    from snellen.jobs.tickets import FilmTicket

    found = sharing(job, name)
    with Pool(found, share(found), events, meter) as pool:
        where = ", ".join(dict.fromkeys(found))
        notify(events, given.name, f"{counted(len(found), 'worker')} on {where}")
        yield FilmWorkers(pool, FilmTicket(make, job, given, bits, growth))


@contextmanager
def _far(
    address: str,
    job: WorkedJob,
    make: Making,
    growth: int,
    events: Events,
    name: str,
    given: MediaInfo,
    bits: int | None,
    meter: Meter,
) -> Iterator[FilmCluster]:
    from snellen.jobs.cluster import Cluster
    from snellen.jobs.tickets import FilmTicket

    with Cluster(address, job.device, job.threads, events, meter) as cluster:
        room = counted(cluster.room, "segment")
        notify(events, given.name, f"a cluster of Ray: {room} at once, each with {cluster.needs}")
        yield FilmCluster(cluster, FilmTicket(make, job, given, bits, growth))
