"""Runs an upscaling job whose source is a video."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from snellen.jobs.events import Events, listening, notify
from snellen.jobs.inputs.sequence import is_sequence_of
from snellen.jobs.kinds.choice import Models
from snellen.jobs.kinds.enhance import enhanced, with_notice
from snellen.jobs.kinds.film_blur import blur_of
from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult
from snellen.jobs.options.sizes import late_step
from snellen.jobs.runs.film import converted, damage
from snellen.jobs.sharing.film_workers import film_workers
from snellen.jobs.sharing.segments import segments_of
from snellen.upscaling.shipped import AUTO
from snellen.upscaling.upscaler import Upscaler
from snellen.video.convert import LateStep, Step
from snellen.video.filtering.side_files import SideFiles

if TYPE_CHECKING:
    from snellen.jobs.sharing.segments import Changed
    from snellen.video.segments.film import Workers


def upscale_video(job: UpscaleJob, events: Events, changed: Changed | None = None) -> UpscaleResult:
    """Enlarge a video; `changed` as of `segments_of`."""
    job = settled(job, events)
    models = models_of(job)
    with SideFiles() as files:
        summary = converted(
            job.source, job.target, enlarging(job, models, events, files), device=job.device,
            video=job.video, quality=job.quality, strict=job.strict, overwrite=job.overwrite,
            events=events, before=files.finish,
            segments=segments_of(
                job, models, events, workers=workers_of(job, events), changed=changed
            ),
        )  # fmt: skip
    return UpscaleResult(
        job.source, job.target, summary.width, summary.height, summary.device, summary.warnings,
        summary, damage(job.source, job.target, summary), **models.said(),
    )  # fmt: skip


def settled(job: UpscaleJob, events: Events, *, dry: bool = False) -> UpscaleJob:
    """Return a job whose source is a video, with what is found beforehand, once for all of it.

    Nothing is written if the run is `dry`.
    """
    options = job.enhancement
    if options.deblur != AUTO:
        return job
    psf = blur_of(
        None if is_sequence_of(job.source, job.video.fps) else job.source,
        job.video.clip.map, options.crop,
        lambda text: notify(events, str(job.source), text),
        out=None if dry else options.deblur_psf_out, overwrite=job.overwrite,
    )  # fmt: skip
    return replace(job, enhancement=replace(options, deblur=psf, deblur_psf_out=None))


def workers_of(job: UpscaleJob, events: Events) -> Workers | None:
    """Return what opens the processes that work on a film's segments; None: there is one."""
    return film_workers(job, _made, (job.magnification or 2) ** 2, events)


def _made(job: UpscaleJob, device: str) -> Step | LateStep:
    """Return the step of a job whose source is a video, in a process of its own."""
    return enlarging(job, models_of(job))(device)


def models_of(job: UpscaleJob) -> Models:
    """Return the models of a job whose source is a video."""
    return Models(
        job.model, job.method, job.source_kind, job.source, job.video.clip.map,
        job.enhancement.denoise,
    )  # fmt: skip


def enlarging(
    job: UpscaleJob,
    models: Models,
    events: Events | None = None,
    files: SideFiles | None = None,
) -> Callable[[str], Step | LateStep]:
    """Return what makes the step of a job whose source is a video, for a device.

    `events` receives what users may want to know of it, `files` what filters write into files.
    """

    def say(text: str) -> None:
        notify(listening(events), str(job.source), text)

    def step(device: str) -> Step | LateStep:
        first = device.partition(",")[0]  # several share segments, each in a process of its own

        def enlarger(scale: int) -> Upscaler:
            return Upscaler(scale, models(scale), first, job.chroma)

        single = job.magnification
        if single:
            late = LateStep(lambda info: (enlarger(single), info))
        else:
            late = late_step(job.goal, enlarger, models.scales)
        if job.enhancement:
            late = enhanced(job.enhancement, late.make, say, first, models.area, files)
        if events is None or job.enhancement.crop is not None:
            return late
        return with_notice(late, models.area, say)

    return step
