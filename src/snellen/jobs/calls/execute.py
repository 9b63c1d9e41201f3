"""Runs one job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar, cast, overload

from snellen.cpu import threads
from snellen.errors import InputError
from snellen.frames import limits
from snellen.jobs.events import Collected, Events, listening
from snellen.jobs.first_use import announced
from snellen.jobs.inputs.sequence import makes_film
from snellen.jobs.kinds.compare import CompareJob, CompareResult
from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult
from snellen.jobs.kinds.files import AnyJob, growth_of, protected
from snellen.jobs.kinds.score import ScoreJob, ScoreResult
from snellen.jobs.kinds.train import TrainJob, TrainResult, run_train
from snellen.jobs.kinds.upload import Staged
from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult
from snellen.jobs.options.profile import recorded
from snellen.process import while_running

AnyResult = UpscaleResult | DeblurResult | ScoreResult | CompareResult | TrainResult
R = TypeVar("R", UpscaleResult, DeblurResult, ScoreResult, CompareResult)


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
@while_running
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
    check_job(job)
    listener = listening(events)
    staged = Staged(job, listener)
    with around(staged.job, listener):
        result = _run(staged.job, listener)
        staged.upload()
    return cast("AnyResult", staged.result(result))


@contextmanager
def around(job: AnyJob, events: Events) -> Iterator[None]:
    """Within the block, a job's inputs are protected, and its limits hold."""
    with (
        protected(job, events), limits.at_most(job.max_pixels, growth_of(job)),
        threads.limited(job.threads), announced(events),
    ):  # fmt: skip
        yield


def check_job(job: object) -> None:
    """Refuse (InputError) what is no job."""
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
            from snellen.jobs.reports.run import score_and_report

            result = score_and_report(job, Collected(listener))
        else:
            from snellen.jobs.runs.score_kinds import RUNS

            result = RUNS[job.check()](job, Collected(listener))
    return replace(result, profile=profile())


def run_upscale(job: UpscaleJob, events: Events, only_join: bool = False) -> UpscaleResult:
    """Enlarge one file, or only join the segments of a film."""
    if not makes_film(job.source, job.target, job.video.fps):
        from snellen.jobs.runs.upscale_image import upscale_image

        return upscale_image(job, events)
    from snellen.jobs.runs.upscale_video import upscale_video

    return upscale_video(job, events, only_join)


def run_deblur(job: DeblurJob, events: Events, only_join: bool = False) -> DeblurResult:
    """Restore one file, or only join the segments of a film."""
    job.check()
    if job.is_burst or not makes_film(job.sources[0], job.target, job.video.fps):
        from snellen.jobs.runs.deblur_image import deblur_image

        return deblur_image(job, events)
    from snellen.jobs.runs.deblur_video import deblur_video

    return deblur_video(job, events, only_join)


def raised(result: R) -> R:
    """Return a result, or raise its error, which then carries the result as `error.result`."""
    if result.error is not None:
        result.error.result = result
        raise result.error
    return result
