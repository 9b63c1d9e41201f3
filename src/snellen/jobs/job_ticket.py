"""Tickets of whole files: one of many, made by one worker."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from snellen import unfinished
from snellen.cpu import threads
from snellen.errors import DeviceError, InternalError, SnellenError, unexpected
from snellen.jobs.deblur import DeblurJob
from snellen.jobs.execute import run
from snellen.jobs.files import AnyJob, written_by
from snellen.jobs.upscale import UpscaleJob
from snellen.video.segments import left

if TYPE_CHECKING:
    from snellen.jobs.tickets import Worker

FileJob = UpscaleJob | DeblurJob


@dataclass(frozen=True, slots=True)
class Finished:
    """One of several jobs with its result, its error, or both."""

    job: AnyJob
    """What was asked for."""
    result: Any = None
    """The job's result; None: it failed."""
    error: SnellenError | None = None
    """Why it failed, or what its result says was wrong; None: all is well."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a ticket."""

    key: int
    result: Any = None
    """Of the job; None: it failed, or was left."""
    error: SnellenError | None = None
    is_left: bool = False
    """Whether it is a long film, whose segments are tickets of their own."""
    outputs: tuple[bytes | None, ...] = ()
    """Of a ShippedJob the files of `written_by`; None: one that was not written."""


@dataclass(frozen=True, slots=True)
class JobTicket:
    """A job that a worker runs as it would be run alone."""

    key: int
    job: FileJob
    together: int
    """CPU threads of all workers."""
    once: ClassVar[bool] = True
    """Whether two workers must not run it at once: the second one would find its output there."""

    @property
    def subject(self) -> str:
        """Name of the input."""
        return str(first(self.job))

    def __str__(self) -> str:
        return self.subject

    def run(self, worker: Worker) -> Made:
        """Run the job. What is wrong with its files is part of the result.

        Raises
        ------
        SnellenError
            Something is wrong with the machine: another worker may succeed.
        """
        return self._made(worker, self.job, left.CUT)

    def units(self, result: Made) -> int:
        """Return 1: files are counted."""
        return 1

    def failed(self, error: SnellenError) -> Made:
        """Return the result of a file that cannot be made."""
        return Made(self.key, error=error)

    def _made(self, worker: Worker, job: FileJob, which: str) -> Made:
        # "auto" stays so: where the memory of its GPU does not suffice, the CPU steps in.
        device = job.device if job.device == "auto" else worker.device
        alone = replace(job, device=device, workers=None, cluster=None)
        try:
            with threads.shared(self.together), left.leaving(which):
                result = run(alone, worker.events)
        except left.LeftError:
            return Made(self.key, is_left=True)
        except Exception as error:
            found = unexpected(error)
            if type(found) in (SnellenError, DeviceError):  # memory of the machine, or a GPU
                raise found from error
            if isinstance(found, InternalError):  # its cause stays in this process
                found.add_note("".join(traceback.format_exception(error)))
            return Made(self.key, error=found)
        return Made(self.key, result, result.error)


@dataclass(frozen=True, slots=True)
class ShippedJob(JobTicket):
    """A job whose outputs are returned: their folder need not be seen by the nodes."""

    once: ClassVar[bool] = False

    def run(self, worker: Worker) -> Made:
        """Run the job into a folder for temporary files, and read what it has written there."""
        with unfinished.folder() as folder:
            goals = written_by(self.job)
            files = [folder / str(number) / one.name for number, one in enumerate(goals)]
            names: dict[str, Any] = {"target": files[0]}
            if isinstance(self.job, DeblurJob) and len(files) > 1:
                names["psf_out"] = files[1]
            made = JobTicket._made(self, worker, replace(self.job, **names), left.LONG)
            return replace(
                made,
                result=None if made.result is None else self._meant(made.result, files),
                error=_worded(made.error, files, goals),
                outputs=tuple(one.read_bytes() if one.is_file() else None for one in files),
            )

    def _meant(self, result: Any, files: list[Path]) -> Any:
        """Return a result that names the job's own outputs."""
        goals = written_by(self.job)
        names: dict[str, Any] = {"target": goals[0]}
        if getattr(result, "psf_file", None) is not None:
            names["psf_file"] = goals[1]
        return replace(result, error=_worded(result.error, files, goals), **names)


def _worded(
    error: SnellenError | None, files: list[Path], goals: list[Path]
) -> SnellenError | None:
    """Return an error that names the job's own outputs."""
    if error is None:
        return None
    text = error.message
    for file, goal in zip(files, goals, strict=True):
        text = text.replace(str(file), str(goal))
    found = type(error)(text, parameter=error.parameter, advice=error.advice)
    for note in getattr(error, "__notes__", ()):  # where it was raised
        found.add_note(note)
    return found


def first(job: FileJob) -> Path:
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
