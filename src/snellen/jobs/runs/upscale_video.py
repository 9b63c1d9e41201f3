"""Runs an upscaling job whose source is a video."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from snellen.frames import limits
from snellen.jobs.events import Events, listening, notify
from snellen.jobs.inputs.sequence import is_sequence_of
from snellen.jobs.kinds.choice import Models
from snellen.jobs.kinds.enhance import enhanced, say_bars
from snellen.jobs.kinds.film_blur import blur_of
from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult
from snellen.jobs.runs.film import converted, damage, worked
from snellen.jobs.sharing.segments import segments_of
from snellen.upscaling.shipped import AUTO
from snellen.upscaling.target import Target, geometry
from snellen.upscaling.upscaler import Upscaler
from snellen.video.filtering.side_files import SideFiles
from snellen.video.segments.begin import Part, make_part

if TYPE_CHECKING:
    from snellen.frames.step import Step
    from snellen.video.media import MediaInfo


def upscale_video(job: UpscaleJob, events: Events, only_join: bool = False) -> UpscaleResult:
    """Enlarge a video, or only join its segments."""
    job = settled(job, events)
    models = models_of(job)
    with SideFiles() as files:
        summary = converted(
            job, partial(made, job, models=models, events=events, files=files), events,
            segments_of(job, models, events, made, only_join=only_join),
            before=files.finish,
        )  # fmt: skip
    return UpscaleResult(
        job.source, job.target, summary.width, summary.height, summary.device, summary.warnings,
        summary, damage(job.source, job.target, summary), **models.said(),
    )  # fmt: skip


def part_of(job: UpscaleJob, events: Events, numbers: range) -> Part:
    """Make segments of a video by their numbers; without any, write how it is cut."""
    models = models_of(job)
    cut = segments_of(job, models, events, made, numbers=numbers)
    make = partial(made, job, models=models, events=events)
    return worked(make_part, job, make, events, cut)


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


def models_of(job: UpscaleJob) -> Models:
    """Return the models of a job whose source is a video."""
    return Models(
        job.model, job.method, job.source_kind, job.source, job.video.clip.map,
        job.enhancement.denoise,
    )  # fmt: skip


def made(
    job: UpscaleJob,
    info: MediaInfo,
    device: str,
    *,
    models: Models | None = None,
    events: Events | None = None,
    files: SideFiles | None = None,
) -> tuple[Step, MediaInfo]:
    """Return the step of a job for a film and a device, and the film as its output states it.

    `models` are those of the job. `events` receives what users may want to know of the step,
    `files` what filters write into files.
    """
    first = device.partition(",")[0]  # several share segments, each in a process of its own
    models = models or models_of(job)

    def say(text: str) -> None:
        notify(listening(events), str(job.source), text)

    def enlarger(scale: int) -> Upscaler:
        return Upscaler(scale, models(scale), first, job.chroma)

    def enlarged(info: MediaInfo) -> tuple[Step, MediaInfo]:
        if job.magnification:
            return enlarger(job.magnification), info
        return _sized(info, job.goal, enlarger, models.scales)

    if events is not None and job.enhancement.crop is None:
        say_bars(info, models.area(), say)
    if not job.enhancement:
        return enlarged(info)
    return enhanced(info, job.enhancement, enlarged, say, first, models.area, files)


def _sized(
    info: MediaInfo, goal: Target, enlarger: Callable[[int], Step], scales: tuple[int, ...]
) -> tuple[Step, MediaInfo]:
    """Return the step that brings a film to a size, and the film as its output states it."""
    from snellen.upscaling.fit import Fit
    from snellen.video.comparing.turning import is_on_its_side
    from snellen.video.steps.chain import Chain

    picture = info.picture
    width, height = picture.format.width, picture.format.height
    across, down = picture.format.subsampling or (0, 0)
    pixel = picture.sample_aspect_ratio
    found = geometry(
        goal, width, height, pixel=pixel or Fraction(1), scales=scales,
        turned=is_on_its_side(picture.display_matrix), unit=(1 << across, 1 << down),
    )  # fmt: skip
    with limits.at_most(None, prod(found.scales) ** 2):
        limits.check_size(info.name, width, height, film=True)
    steps: list[Step] = [enlarger(scale) for scale in found.scales]
    if not found.plain:
        steps.append(Fit(found))
    step = steps[0] if len(steps) == 1 else Chain(*steps)
    if found.square and pixel is not None:
        info = replace(info, picture=replace(picture, sample_aspect_ratio=Fraction(1)))
    return step, info
