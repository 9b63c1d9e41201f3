"""The segments of a job's film: what they depend on, and what makes them in other processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.files.opening import opened, raw
from snellen.jobs.events import Events, notify
from snellen.jobs.inputs.inputs import PIPE, is_own
from snellen.jobs.inputs.naming import segments_folder
from snellen.jobs.kinds.files import growth_of
from snellen.jobs.sharing.executors import executor, planned
from snellen.schema import parameters

if TYPE_CHECKING:
    from snellen.jobs.kinds.choice import Models
    from snellen.jobs.kinds.files import FilmJob
    from snellen.jobs.sharing.executors import Executor
    from snellen.jobs.sharing.tickets import FilmStep, Making
    from snellen.video.convert import Segments
    from snellen.video.media import MediaInfo
    from snellen.video.progress import Meter
    from snellen.video.segments.film import Workers
    from snellen.video.segments.values import Record, SegmentTask

UNWANTED = "no segments are wanted, which several would share"
"""Why there are none, as the end of a sentence."""
_END = 1 << 20
"""Bytes at each end of an input that are hashed."""
_MOST = 1 << 30
"""Bytes of such a file that is at an address."""


def segments_of(
    job: FilmJob,
    models: Models | None,
    events: Events,
    make: Making | None = None,
    *,
    notes: Callable[[Iterable[bytes]], None] | None = None,
    tidied: bool = True,
    numbers: range | None = None,
    only_join: bool = False,
) -> Callable[[], Segments | None] | None:
    """Return what says how the film of a job is cut; None: it is not to be.

    The function is called when the models are known, if there are any. `make` makes the step where
    other processes make segments, as of `film_workers`; None: they make none. `notes` receives what
    the step notes of frames. Unless `tidied` is False, segments that nobody needs any more are
    removed. `numbers` and `only_join` are those of `Segments`, of a film that several runs share by
    a plan; nothing is removed then.
    """
    workers = None if make is None else film_workers(job, make, events)
    folder = segments_folder(job.target)
    if tidied and numbers is None and not only_join and job.target != PIPE and folder.is_dir():
        from snellen.video.segments.store import discard, tidy

        tidy(folder, job.target)
        if job.discard_segments and not job.segments:
            discard(folder)
    if not job.segments:
        if workers is not None:
            from snellen.video.segments.cuts import ALONE

            notify(events, str(job.source), f"{ALONE}: {UNWANTED}")
        return None
    discards = iter([job.discard_segments])  # not what a GPU that then failed has finished
    of_plan = {"numbers": numbers, "only_join": only_join}
    return partial(_segments, job, models, events, notes, discards, workers, of_plan)


def _segments(
    job: FilmJob,
    models: Models | None,
    events: Events,
    notes: Callable[[Iterable[bytes]], None] | None,
    discards: Iterator[bool],
    workers: Workers | None,
    of_plan: dict[str, Any],
) -> Segments:
    from snellen.video.convert import Segments

    source = job.source
    assert isinstance(source, Path)  # not the pictures of a burst

    def say(text: str) -> None:
        notify(events, str(source), text)

    return Segments(
        folder=segments_folder(job.target),
        job={
            "input": _identity(source) if source.is_file() else {},
            "job": _chosen(job),
            "models": {} if models is None else models.digests(),
            **_files(job),
        },
        say=say,
        keep=job.keep_segments,
        discard=next(discards, False),
        workers=workers,
        notes=notes,
        **of_plan,
    )


def _chosen(job: FilmJob) -> dict[str, Any]:
    """Return the fields of a job that change the pictures of its film, as JSON has them."""
    # Sound is added when all segments are there.
    found: dict[str, Any] = json.loads(job.to_json())
    del found["source"], found["target"]  # the input is known by its contents
    for one in parameters(type(job)).values():
        if one.about.effect != "pixels":
            *outer, name = one.path
            del reduce(dict.__getitem__, outer, found)[name]
    return found


def _files(job: FilmJob) -> dict[str, dict[str, str]]:
    """Return the digests of further files that a film depends on, by their parameters."""
    files: dict[str, Path] = {}
    if (enhancement := getattr(job, "enhancement", None)) is not None:
        files |= enhancement.files()
    if (mia := getattr(job, "mia", None)) is not None:
        given = {"psf": mia.psf, "psf_start": mia.psf_start}
        files |= {name: psf for name, psf in given.items() if isinstance(psf, Path)}
    found = {}
    for name, file in files.items():
        if file.is_file():
            data: Any
            with opened(file, _MOST) as data:
                found[name] = file_digest(data, "sha256").hexdigest()
    return {"files": found} if found else {}


def _identity(file: Path) -> dict[str, Any]:
    """Return what tells an input from another one, without reading all of it."""
    with raw(file) as source, BufferedReader(source) as found:
        size, modified = source.state
        ends = sha256(found.read(_END))
        found.seek(max(0, size - _END))
        ends.update(found.read(_END))
    return {"bytes": size, "modified": modified, "ends": ends.hexdigest()}


class FilmWorkers:
    """An executor of segments: one of tickets, a Pool or a Cluster, which are a film's.

    Segments that are shipped come back as bytes, which this process writes.
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


def film_workers(job: FilmJob, make: Making, events: Events) -> Workers | None:
    """Return what opens what works on a job's segments elsewhere; None: this process does.

    It does so too, and says it, for an input that no other process can open, as /dev/stdin. `make`
    is a function of a module: it returns the job's step for a film and a device.
    """
    if len(planned(job)) == 1:
        return None
    if isinstance(job.source, Path) and is_own(job.source):
        notify(events, str(job.source), "this process alone has it open, and makes all segments")
        return None
    return partial(_opened, job, make, events)


def sharing(job: FilmJob, name: str) -> tuple[str, ...]:
    """Return the device of each worker of a job, whose prepared step is on the device `name`."""
    found = planned(job)
    return ("cpu",) * len(found) if name == "cpu" else found  # also where a GPU failed


@contextmanager
def _opened(
    job: FilmJob,
    make: Making,
    events: Events,
    name: str,
    given: MediaInfo,
    bits: int | None,
    meter: Meter,
) -> Iterator[FilmWorkers]:
    from snellen.jobs.sharing.tickets import FilmStep

    film = FilmStep(make, given, bits, growth_of(job))
    with executor(job, sharing(job, name), given.name, "segment", None, events, meter) as runs:
        yield FilmWorkers(runs, job, film, job.cluster is not None)
