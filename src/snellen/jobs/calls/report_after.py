"""Reports about what another job has made, or scored."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import overload

from snellen.errors import InputError
from snellen.files import atomic
from snellen.files.kinds import is_image, names_image
from snellen.jobs.calls.execute import around, run
from snellen.jobs.events import Collected, Events, listening
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.sequence import is_sequence_of
from snellen.jobs.kinds.compare import CompareJob, CompareResult
from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult
from snellen.jobs.kinds.enhance import Enhancement
from snellen.jobs.kinds.score import ScoreJob, ScoreOptions, ScoreResult
from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult
from snellen.jobs.options.options import File, path
from snellen.jobs.reports.source import Shown, moved
from snellen.video.clip import Clip

SCORED = 32
"""Frames of a film that are scored, about: its result was not made to be scored."""


@dataclass(frozen=True, slots=True)
class ResultReport:
    """A report about the result of a job, to be written when that is there."""

    job: CompareJob
    made_by: UpscaleJob | DeblurJob


def about_result(
    job: UpscaleJob | DeblurJob, target: Path, report_size: float, command: str | None = None
) -> ResultReport:
    """Return the report that compares the result of a job, which is not yet run, with its source.

    `report_size` is its most million bytes; `command` is the command line that it names.

    Raises
    ------
    InputError
        The source is no single file, its frames and those of the result do not meet by number, or
        the report must not be written.
    """
    if not isinstance(job.source, Path) or PIPE in (job.source, job.target):
        raise InputError(
            "a report is about one file and what is made of it, which both are read again",
            parameter="report",
            advice="name files, and one source",
        )
    if is_sequence_of(job.source, job.video.fps):
        raise InputError(
            "got `report` with `fps`: a report about a film is made of one file",
            parameter="report",
            advice="leave it out, and use snellen compare",
        )
    film = not names_image(job.target)
    image, shown = is_image(job.source, film), job
    if isinstance(job, UpscaleJob) and image:
        shown = replace(job, enhancement=Enhancement())  # which is for films
    moved(shown, "report")  # which refuses what does not meet
    if image == film:
        raise InputError(
            f"got `report` with {job.source} and {job.target}; expected two images or two videos",
            parameter="report",
        )
    found = CompareJob(
        reference=job.source, variants=(job.target,), target=target, report_size=report_size,
        is_source=True, command=command, overwrite=job.overwrite, max_pixels=job.max_pixels,
        threads=job.threads, device=job.device,
    )  # fmt: skip
    _check(found)
    return ResultReport(found, job)


def about_score(
    job: ScoreJob, target: Path, report_size: float, command: str | None = None
) -> CompareJob:
    """Return the job whose report is about what a ScoreJob scores; parameters as `about_result`."""
    how = {one.name: getattr(job, one.name) for one in fields(ScoreOptions)} | {"profile": False}
    found = CompareJob(
        reference=job.reference, variants=(job.distorted,), target=target,
        report_size=report_size, command=command, **how,
    )  # fmt: skip
    _check(found)
    return found


@overload
def with_report(
    job: UpscaleJob, report: File | None, report_size: float, events: Events | None
) -> UpscaleResult: ...
@overload
def with_report(
    job: DeblurJob, report: File | None, report_size: float, events: Events | None
) -> DeblurResult: ...
@overload
def with_report(
    job: ScoreJob, report: File | None, report_size: float, events: Events | None
) -> ScoreResult: ...
def with_report(
    job: UpscaleJob | DeblurJob | ScoreJob,
    report: File | None,
    report_size: float,
    events: Events | None,
) -> UpscaleResult | DeblurResult | ScoreResult:
    """Run a job, and write a report about what it has made, or scored; None: no report.

    Errors are those of `run` and of `about_result` or `about_score`, which come first.
    """
    if report is None:
        return run(job, events)
    target = path(report, "report")
    if isinstance(job, ScoreJob):
        scored = about_score(job, target, report_size)
        result = run(job, events)
        after_score(scored, result, events)
        return result
    about = about_result(job, target, report_size)
    made = run(job, events)
    after_result(about, made, events)
    return made


def _check(job: CompareJob) -> None:
    with atomic.protected(one for one in (job.reference, *job.variants) if one.is_file()):
        atomic.check_target(job.target, None, job.overwrite)


def after_result(
    about: ResultReport, result: UpscaleResult | DeblurResult, events: Events | None = None
) -> CompareResult:
    """Write the report that `about_result` planned, when the result is there."""
    if result.summary is None:
        return run(about.job, events)
    frames = result.summary.frames
    every = max(1, frames // SCORED)
    clip = Clip(frames=-(-frames // every))
    reached = None if result.summary.reached is None else str(result.summary.reached)
    job, listener = replace(about.job, every=every, clip=clip, reached=reached), listening(events)
    with around(job, listener):
        from snellen.jobs.reports.run import score_and_report

        return score_and_report(job, Collected(listener), shown=Shown(about.made_by))


def after_score(
    job: CompareJob, result: ScoreResult, events: Events | None = None
) -> CompareResult:
    """Write the report that `about_score` planned, with the scores that are there."""
    listener = listening(events)
    with around(job, listener):
        from snellen.jobs.reports.run import report

        return report(job, (result,), Collected(listener), time.monotonic())
