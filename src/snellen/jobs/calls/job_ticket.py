"""Tickets of whole files: which of many jobs are tickets, and one that a worker makes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from snellen.cpu import threads
from snellen.errors import DeviceError, InternalError, SnellenError, unexpected
from snellen.files import protection, temporary
from snellen.files.remote import Remote
from snellen.jobs.calls.execute import run
from snellen.jobs.events import Events, Silent, notify
from snellen.jobs.inputs.inputs import is_own
from snellen.jobs.inputs.sequence import is_sequence, is_sequence_of, makes_film
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.jobs.kinds.files import AnyJob, FilmJob, named_by, read_by, written_by
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.upscaling.shipped import AUTO
from snellen.video.segments import executor


@dataclass(frozen=True, slots=True)
class Finished:
    """One of several jobs with its result, its error, or both."""

    job: AnyJob
    """This was asked for."""
    result: Any = None
    """The job's result; None: it failed."""
    error: SnellenError | None = None
    """Why it failed, or what its result says was wrong; None: all is well."""


def failed(job: FilmJob, error: SnellenError) -> Finished:
    """Return one of several jobs that has failed; its error names it."""
    return Finished(job, None, named(error, first(job), job.target))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTicket(Ticket):
    """A job that a worker runs as it would be run alone."""

    together: int
    """CPU threads of all workers."""

    @property
    def subject(self) -> str:
        """Name of the input."""
        return str(first(self.job))

    @property
    def once(self) -> bool:
        """Return whether a second worker would find the output of the first one there."""
        return not self.is_shipped

    def run(self, worker: Worker) -> Done:
        """Run the job. What is wrong with its files is part of the result.

        Raises
        ------
        SnellenError
            Something is wrong with the machine: another worker may succeed.
        """
        if self.is_shipped:
            with temporary.folder() as folder:
                return self._shipped(worker, folder)
        naming = None if self.job.overwrite else worker.naming
        with protection.protected([], naming=naming):
            return self._done(worker.device, self.job, executor.CUT, worker.events)

    def _done(self, device: str, job: FilmJob, which: str, events: Events) -> Done:
        # "auto" stays so: where the memory of its GPU does not suffice, the CPU steps in.
        device = job.device if job.device == "auto" else device
        alone = replace(job, device=device, workers=None, cluster=None)
        try:
            with threads.shared(self.together), executor.deferring(which):
                result = run(alone, events)
        except executor.DeferredError:
            return Done(self.key, is_deferred=True)
        except Exception as error:
            found = unexpected(error)
            if type(found) in (SnellenError, DeviceError):  # memory of the machine, or a GPU
                raise found from error
            if isinstance(found, InternalError):  # its cause stays in this process
                found.add_note("".join(traceback.format_exception(error)))
            return Done(self.key, error=found)
        return Done(self.key, result, result.error)

    def _shipped(self, worker: Worker, folder: Path) -> Done:
        """Run the job into a folder for temporary files, and read what it has written there."""
        goals = written_by(self.job)
        files = [folder / str(number) / one.name for number, one in enumerate(goals)]
        names: dict[str, Any] = {"target": files[0]}
        if isinstance(self.job, DeblurJob) and len(files) > 1:
            names["psf_out"] = files[1]
        own = _Own(dict(zip(files, goals, strict=True)), worker.events)
        done = self._done(worker.device, replace(self.job, **names), executor.LONG, own)
        return replace(
            done,
            result=None if done.result is None else self._meant(done.result, own),
            error=own.error(done.error),
            outputs=tuple(one.read_bytes() if one.is_file() else None for one in files),
        )

    def _meant(self, result: Any, own: _Own) -> Any:
        """Return a result that names the job's own outputs."""
        goals = written_by(self.job)
        names: dict[str, Any] = {"target": goals[0]}
        if getattr(result, "psf_file", None) is not None:
            names["psf_file"] = goals[1]
        names["warnings"] = tuple(map(own.text, result.warnings))
        return replace(result, error=own.error(result.error), **names)


class _Own(Silent):
    """Events, texts and errors that name a job's own outputs, and not those of a node.

    Parameters
    ----------
    outputs : dict
        The node's file of each output, and the job's.
    events : Events
        Receives notices and warnings.
    """

    def __init__(self, outputs: dict[Path, Path], events: Events) -> None:
        folders = {file.parent: goal.parent for file, goal in outputs.items()}
        self._names = {str(one): str(other) for one, other in (outputs | folders).items()}
        self._events = events

    def notice(self, subject: str, message: str) -> None:
        """Pass a notice on."""
        notify(self._events, self.text(subject), self.text(message))

    def warning(self, subject: str, message: str) -> None:
        """Pass a warning on."""
        self._events.warning(self.text(subject), self.text(message))

    def text(self, text: str) -> str:
        """Return a text with the names of the job's own outputs."""
        for name, other in self._names.items():
            text = text.replace(name, other)
        return text

    def error(self, error: SnellenError | None) -> SnellenError | None:
        """Return an error with the names of the job's own outputs."""
        if error is None:
            return None
        advice = None if error.advice is None else self.text(error.advice)
        found = type(error)(self.text(error.message), parameter=error.parameter, advice=advice)
        for note in getattr(error, "__notes__", ()):  # where it was raised
            found.add_note(self.text(note))
        return found


def first(job: FilmJob) -> Path:
    """Return the input of a job, of a burst the first one."""
    return job.source if isinstance(job.source, Path) else job.source[0]


def named(error: SnellenError, source: Path, target: Path) -> SnellenError:
    """Return an error that says which of several inputs it is about."""
    if error.result is not None or any(str(one) in error.text for one in (source, target)):
        return error
    found = error.about(source).with_traceback(error.__traceback__)
    found.__cause__ = error.__cause__
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found


def shareable(jobs: Mapping[int, AnyJob]) -> dict[int, FilmJob]:
    """Return the jobs that may be tickets, each run by one worker, by their numbers.

    They have the settings of the first job for workers. Those are left out that use standard input
    or output, read what an earlier one writes or write what it reads, or look at their film before
    they begin.
    """
    found: dict[int, FilmJob] = {}
    how = None
    place = cache(protection.place)
    read: set[str] = set()
    written: set[str] = set()
    for number, job in jobs.items():
        reads, writes = _reads(job, place), _writes(job, place)
        if isinstance(job, FilmJob):
            its = (job.device, job.workers, job.cluster, job.threads)
            how = how or its
            is_free = written.isdisjoint(reads) and read.isdisjoint(writes)
            if its == how and is_free and not _is_apart(job):
                found[number] = job
        read |= reads
        written |= writes
    return found


def _reads(job: AnyJob, place: Callable[[Path], str]) -> set[str]:
    """Return what a job reads, as keys: it depends on jobs of which `_writes` has one of them."""
    # A key is a file; or a folder and what of it: "picture" joins who reads a file in it and who
    # writes a sequence of pictures there, "file" who reads all in it and who writes a file there,
    # "sequence" who reads all in it and who writes a sequence there.
    files = {place(one) for one in read_by(job) if isinstance(one, Path)}
    keys = set[str]()
    if isinstance(job, FilmJob):
        source = first(job)
        files |= {place(one) for one in (source, *getattr(job, "sources", ()))}
        if is_sequence_of(source, job.video.fps):
            is_pattern = any(one in source.name for one in "*?[%") and not source.is_dir()
            folder = place(source.parent if is_pattern else source)
            keys = {f"{folder} file", f"{folder} sequence"}
    else:
        named = map(place, named_by(job))
        keys = {f"{one} {what}" for one in named for what in ("file", "sequence")}
    return files | {f"{os.path.dirname(one)} picture" for one in files} | keys  # noqa: PTH120


def _writes(job: AnyJob, place: Callable[[Path], str]) -> set[str]:
    """Return what a job writes, as keys."""
    files = {place(one) for one in written_by(job)}
    keys = {f"{os.path.dirname(one)} file" for one in files}  # noqa: PTH120
    if isinstance(job, FilmJob) and is_sequence(job.target):
        folder = place(job.target.parent)
        keys |= {f"{folder} picture", f"{folder} sequence"}
    return files | keys


def _is_apart(job: FilmJob) -> bool:
    """Return whether this process makes an output, or starts what does."""
    source = first(job)
    if is_own(source) or is_own(job.target):
        return True
    is_film = makes_film(source, job.target, job.video.fps)
    if is_film and isinstance(job, UpscaleJob) and job.enhancement.deblur == AUTO:
        return True  # its blur is estimated once, and may be written, before it is known to be long
    if job.cluster is None:
        return False
    # Its outputs come back as bytes.
    is_unreturned = isinstance(job.target, Remote) or is_sequence(job.target)
    return is_unreturned or (is_film and not job.segments)
