"""Runs one job or several; a job that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from snellen.cpu import threads
from snellen.errors import InputError, SnellenError, unexpected
from snellen.frames import atomic, limits
from snellen.frames.values import function, items
from snellen.jobs.compare import CompareJob, CompareResult
from snellen.jobs.deblur import DeblurJob, DeblurResult
from snellen.jobs.events import Collected, Events, listening
from snellen.jobs.files import AnyJob, protected, read_by, written_by
from snellen.jobs.first_use import announced
from snellen.jobs.inputs import claim, stream
from snellen.jobs.options import MANY
from snellen.jobs.planning import Plan
from snellen.jobs.profile import recorded
from snellen.jobs.score import FILM, FOLDER, IMAGE, ScoreJob, ScoreResult
from snellen.jobs.sequence import makes_film
from snellen.jobs.train import TrainJob, TrainResult, run_train
from snellen.jobs.upload import Staged
from snellen.jobs.upscale import UpscaleJob, UpscaleResult

AnyResult = UpscaleResult | DeblurResult | ScoreResult | CompareResult | TrainResult
R = TypeVar("R", UpscaleResult, DeblurResult, ScoreResult, CompareResult)


@dataclass(frozen=True, slots=True)
class Finished:
    """One of several jobs with its result, its error, or both."""

    job: AnyJob
    """What was asked for."""
    result: Any = None
    """The job's result; None: it failed."""
    error: SnellenError | None = None
    """Why it failed, or what its result says was wrong; None: all is well."""


@overload
def run(job: UpscaleJob, events: Events | None = None) -> UpscaleResult: ...
@overload
def run(job: DeblurJob, events: Events | None = None) -> DeblurResult: ...
@overload
def run(job: ScoreJob, events: Events | None = None) -> ScoreResult: ...
@overload
def run(job: CompareJob, events: Events | None = None) -> CompareResult: ...
@overload
def run(job: TrainJob, events: Events | None = None) -> TrainResult: ...
def run(job: AnyJob, events: Events | None = None) -> AnyResult:
    """Run one job here and now.

    Parameters
    ----------
    job : UpscaleJob, DeblurJob, ScoreJob, CompareJob or TrainJob
        What to do.
    events : Events, optional
        Receives progress, warnings and frames; None: they are ignored.

    Returns
    -------
    UpscaleResult, DeblurResult, ScoreResult, CompareResult or TrainResult
        `error` is not None where there is a result although something was wrong: the input was
        damaged, or one of several outputs could not be written. It is not raised here.

    Raises
    ------
    InputError, ModelError, DeviceError, OutputError
        The job cannot be done; nothing is left under the output's name.
    """
    _check(job)
    listener = listening(events)
    staged = Staged(job, listener)
    with around(staged.job, listener):
        result = _run(staged.job, listener)
        staged.upload()
    return cast("AnyResult", staged.result(result))


@contextmanager
def around(job: AnyJob, events: Events) -> Iterator[None]:
    """Within the block, a job's inputs are protected, and its limits hold."""
    growth = (job.magnification or 2) ** 2 if isinstance(job, UpscaleJob) else 1
    with (
        protected(job, events), limits.at_most(job.max_pixels, growth),
        threads.limited(job.threads), announced(events),
    ):  # fmt: skip
        yield


def _check(job: object) -> None:
    if not isinstance(job, AnyJob):
        raise InputError(f"got a {type(job).__name__}; expected a job")


def _run(job: AnyJob, listener: Events) -> AnyResult:
    if isinstance(job, TrainJob):
        return run_train(job, listener)
    with recorded(job.profile) as profile:
        result: UpscaleResult | DeblurResult | ScoreResult | CompareResult
        if isinstance(job, UpscaleJob):
            result = run_upscale(job, listener)
        elif isinstance(job, DeblurJob):
            result = run_deblur(job, listener)
        elif isinstance(job, CompareJob):
            from snellen.jobs.reports.run import run_compare

            result = run_compare(job, listener)
        else:
            result = run_score(job, listener)
    return replace(result, profile=profile())


def run_upscale(job: UpscaleJob, events: Events) -> UpscaleResult:
    """Enlarge one file.

    Raises
    ------
    InputError, DeviceError, OutputError
        Nothing is left under the target's name.
    """
    if not makes_film(job.source, job.target, job.video.fps):
        from snellen.jobs.upscale_image import upscale_image

        return upscale_image(job, events)
    from snellen.jobs.upscale_video import upscale_video

    return upscale_video(job, events)


def run_deblur(job: DeblurJob, events: Events) -> DeblurResult:
    """Restore one file.

    Raises
    ------
    InputError, DeviceError
        Nothing is written.
    OutputError
        The result could not be written, and nothing is left under its name; or the result is
        written, but its PSF could not be.
    """
    job.check()
    if job.is_burst or not makes_film(job.sources[0], job.target, job.video.fps):
        from snellen.jobs.deblur_image import deblur_image

        return deblur_image(job, events)
    from snellen.jobs.deblur_video import deblur_video

    return deblur_video(job, events)


def run_score(job: ScoreJob, events: Events) -> ScoreResult:
    """Score two inputs, and write table and maps.

    Raises
    ------
    InputError, DeviceError, OutputError
        There is no score; OutputError: a folder takes no file.
    """
    kind = job.check()
    from snellen.jobs.score_run import films, folders, images

    runs = {FILM: films, FOLDER: folders, IMAGE: images}
    return runs[kind](job, Collected(events))


def run_several(
    jobs: Iterable[AnyJob],
    events: Events | None = None,
    done: Callable[[Finished], object] | None = None,
    begin: Callable[[AnyJob], object] | None = None,
) -> list[Finished]:
    """Run jobs one after another; one that fails does not stop the others.

    No output replaces what any of the jobs reads, nor an output of a job before it. What is raised
    and is no SnellenError becomes one: an InternalError, whose cause it is, or that of exhausted
    memory, or of the system.

    Parameters
    ----------
    jobs : iterable of jobs
        What to do, in this order.
    events : Events, optional
        Receives what is reported of all jobs, equal warnings once.
    done : callable, optional
        Called with each `Finished` job, at once.
    begin : callable, optional
        Called with each job, before it is run.

    Returns
    -------
    list of Finished
        One for each job.
    """
    listener = Collected(listening(events))
    function("done", done)
    function("begin", begin)
    finished = []
    given = list(items("jobs", jobs, MANY))
    outputs: dict[str, Path] = {}
    with atomic.protected(one for job in given if isinstance(job, AnyJob) for one in read_by(job)):
        for job in given:
            try:
                _check(job)
                claim(set(written_by(job)), outputs, "target")
                if begin is not None:
                    begin(job)
                result = run(job, listener)
                one = Finished(job, result, result.error)
            except Exception as error:
                failure = unexpected(error)
                if len(given) > 1 and isinstance(job, UpscaleJob | DeblurJob):
                    failure = _naming(failure, _first(job.source), job.target)
                one = Finished(job, None, failure)
            finished.append(one)
            if done is not None:
                done(one)
    return finished


def _naming(error: SnellenError, source: Path, target: Path) -> SnellenError:
    """Return an error that says which of several inputs it is about."""
    if error.result is not None or any(str(one) in error.text for one in (source, target)):
        return error
    named = error.about(source).with_traceback(error.__traceback__)
    named.__cause__ = error.__cause__
    return named


def _first(source: Path | tuple[Path, ...]) -> Path:
    return source[0] if isinstance(source, tuple) else source


def raised(result: R) -> R:
    """Return a result, or raise its error, which then carries the result as `error.result`."""
    if result.error is not None:
        result.error.result = result
        raise result.error
    return result


def each_file(
    function: Callable[..., R],
    todo: Plan,
    events: Events | None,
    options: dict[str, Any],
) -> list[R]:
    """Call a function of one file for each of several, with a target of its own.

    Raises
    ------
    SnellenError
        The first that the function raised, after all files; the others are its notes.
    """
    if options.get("report") is not None and len(todo.pairs) != 1:
        raise InputError(
            f"got `report` with {len(todo.pairs)} files", parameter="report",
            advice="a report is about one file and what is made of it",
        )  # fmt: skip
    listener = Collected(listening(events))
    results: list[R] = []
    failed: list[SnellenError] = [error for _, error in todo.failed]
    for one in todo.skipped:
        listener.notice(str(one.source), f"skipped, {one.why}")
    with atomic.protected(one for source, _ in todo.pairs for one in stream(source)):
        for source, goal in todo.pairs:
            try:
                results.append(function(source, goal, events=listener, **options))
            except SnellenError as error:
                failed.append(_naming(error, source, goal) if todo.several else error)
    if failed:
        for other in failed[1:]:
            failed[0].add_note(str(other))
        raise failed[0]
    return results
