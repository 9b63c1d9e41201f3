"""Reports about what another job has made, or scored."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import overload

from snellen.cpu import threads
from snellen.errors import InputError
from snellen.frames import atomic, limits
from snellen.jobs.compare import CompareJob, CompareResult
from snellen.jobs.deblur import DeblurJob, DeblurResult
from snellen.jobs.events import Collected, Events, listening
from snellen.jobs.execute import run
from snellen.jobs.files import protected
from snellen.jobs.inputs import PIPE, is_image
from snellen.jobs.options import File, path
from snellen.jobs.score import ScoreJob, ScoreResult
from snellen.jobs.upscale import UpscaleJob, UpscaleResult

SCORED = 32
"""Frames of a film that are scored, about: its result was not made to be scored."""


def about_result(
    job: UpscaleJob | DeblurJob, target: Path, report_size: float, command: str | None = None
) -> CompareJob:
    """Return the job that compares the result of a job with its source.

    Parameters
    ----------
    job : UpscaleJob or DeblurJob
        Not yet run.
    target : Path
        The report.
    report_size : float
        Most million bytes of it.
    command : str, optional
        The command line that the report names.

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
    clip, video = job.video.clip, job.video
    others = {
        "start": clip.start is not None, "deinterlace": bool(clip.deinterlace),
        "ivtc": clip.ivtc, "fps": video.fps is not None, "map": bool(clip.map),
        "crop": isinstance(job, UpscaleJob) and job.enhancement.crop is not None,
        "region": isinstance(job, DeblurJob) and job.region is not None and not job.paste_back,
    }  # fmt: skip
    for name, given in others.items():
        if given:
            raise InputError(
                f"got `report` with `{name}`: frames of the source and of the result must meet by "
                "number, and show the same",
                parameter="report",
                advice="leave one of them out, and use snellen compare",
            )
    if is_image(job.source) != is_image(job.target):
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
    return found


def about_score(
    job: ScoreJob, target: Path, report_size: float, command: str | None = None
) -> CompareJob:
    """Return the job whose report is about what a ScoreJob scores; parameters as `about_result`."""
    found = CompareJob(
        reference=job.reference, variants=(job.distorted,), target=target,
        report_size=report_size, command=command, metrics=job.metrics, mad=job.mad,
        data_range=job.data_range, align=job.align, every=job.every, clip=job.clip,
        overwrite=job.overwrite, max_pixels=job.max_pixels, threads=job.threads,
        device=job.device, decoder=job.decoder,
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
        about = about_score(job, target, report_size)
        result = run(job, events)
        after_score(about, result, events)
        return result
    about = about_result(job, target, report_size)
    made = run(job, events)
    after_result(about, made, events)
    return made


def _check(job: CompareJob) -> None:
    with atomic.protected(one for one in (job.reference, *job.variants) if one.is_file()):
        atomic.check_target(job.target, None, job.overwrite)


def after_result(
    job: CompareJob, result: UpscaleResult | DeblurResult, events: Events | None = None
) -> CompareResult:
    """Write the report that `about_result` planned, when the result is there."""
    frames = 1 if result.summary is None else result.summary.frames
    clip = replace(job.clip, frames=frames) if result.summary is not None else job.clip
    every = max(1, frames // SCORED)
    if every > 1:
        clip = replace(clip, frames=-(-frames // every))
    reached = None if result.summary is None else result.summary.reached
    said = None if reached is None else str(reached)
    return run(replace(job, every=every, clip=clip, reached=said), events)


def after_score(
    job: CompareJob, result: ScoreResult, events: Events | None = None
) -> CompareResult:
    """Write the report that `about_score` planned, with the scores that are there."""
    listener = listening(events)
    with (
        protected(job, listener), limits.at_most(job.max_pixels, 1), threads.limited(job.threads),
    ):  # fmt: skip
        from snellen.jobs.compare_run import report

        return report(job, (result,), Collected(listener), time.monotonic())
