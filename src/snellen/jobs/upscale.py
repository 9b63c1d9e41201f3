"""The job that enlarges an image or a video, its result, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, SnellenError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import choice
from snellen.frames.white import MOST
from snellen.gpu import device as devices
from snellen.jobs.cluster import check_cluster
from snellen.jobs.enhance import Enhancement, enhanced, with_notice
from snellen.jobs.events import Events, listening, notify
from snellen.jobs.fallback import on_device
from snellen.jobs.fields import check_types
from snellen.jobs.options import (
    VideoOptions,
    check_optional,
    check_quality,
    check_segments,
    check_threads,
    check_workers,
    device_list,
    path,
)
from snellen.jobs.profile import Profile
from snellen.jobs.sequence import makes_film
from snellen.jobs.serial import Job
from snellen.jobs.sizes import image_at, late_step
from snellen.upscaling.shipped import AUTO, METHODS, SOURCES, exclude
from snellen.upscaling.target import SCALES, Target, target, text_of

if TYPE_CHECKING:
    from snellen.jobs.choice import Models
    from snellen.video.convert import LateStep, Segments, Step, Summary
    from snellen.video.segments.film import Workers

CHROMA = ("auto", "cpu", "gpu")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UpscaleJob(Job):
    """Enlarge one image or video by super-resolution.

    A value: it can be pickled, or written as JSON, and run in another process.

    Raises
    ------
    InputError
        Values that do not exist, or do not go together; `error.parameter` names one.
    """

    source: Path
    """Image or video file; "-": standard input, y4m or an image."""
    target: Path
    """File for the result; "-": y4m on standard output."""
    scale: float | None = None
    """Magnification: 2, 3, 4, or any number above 1 up to 16, which two magnifications in a row and
    a filter make; None: 2, unless there is a size or a height."""
    size: str | None = None
    """Size in place of `scale`: "3840x2160", "8k", "4k", "2160p", "1440p", "1080p" or "720p"; the
    largest picture inside it, with square pixels."""
    height: int | None = None
    """Rows in place of `scale`; the width follows."""
    fit: str | None = None
    """How a picture of another shape fits `size`: "pad" with black, "crop", "stretch"; None: it is
    as large as fits inside."""
    model: str | Path | None = None
    """A shipped model's name or a .safetensors file; None: ours for this scale."""
    method: str | None = None
    """Method of our model: "cnn-fine", "cnn-fast" or "aplus"; "auto" or None: the first. Not with
    `model`."""
    source_kind: str | None = None
    """Kind of pictures that our model is for: "clean"; "film", coded; "soft", coded and blurred;
    "auto" or None: of a video, what its codec, its bits and its sharpness say; of an image "clean".
    Not with `model`."""
    device: str = "auto"
    """"auto", "cpu", "cuda" or "cuda:N"; several GPUs, "cuda:all" or "cuda:0,cuda:1", share the
    segments of a film, and all else is the first one's."""
    chroma: str = "auto"
    """Where video's chroma is enlarged: "auto", "cpu" or "gpu"."""
    video: VideoOptions = field(default_factory=VideoOptions)
    """How a video is read and written."""
    enhancement: Enhancement = field(default_factory=Enhancement)
    """What else is done to a video's frames."""
    quality: int | None = None
    """Of JPEG, WebP and AVIF, 1 … 100; None: 95, without loss, 90."""
    strict: bool = False
    """Whether a loss (streams, tags, a colour profile …) is an error."""
    overwrite: bool = False
    """Whether a file called `target` is replaced."""
    max_pixels: int | None = None
    """Most pixels of a picture that is read; None: by the memory of the machine."""
    threads: int | None = None
    """CPU threads; None: one for each core of this process."""
    profile: bool = False
    """Whether the result has a `profile`: the time of each stage."""
    segments: bool = True
    """Whether a long film is made in segments, which outlive a run that is killed."""
    keep_segments: bool = False
    """Whether they stay when the film is complete."""
    discard_segments: bool = False
    """Whether those of an earlier run are removed first."""
    workers: int | None = None
    """Processes that work on a film's segments at once; None: one, or one for each GPU."""
    cluster: str | None = None
    """The cluster of Ray that makes a film's segments; None: this machine."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", path(self.source, "source"))
        object.__setattr__(self, "target", path(self.target, "target"))
        object.__setattr__(self, "device", device_list(self.device))
        object.__setattr__(self, "size", text_of(self.size))
        check_types(self)
        check_optional(self.max_pixels, "max_pixels")
        check_quality(self.quality)
        check_threads(self.threads)
        check_workers(self.workers)
        check_cluster(self.cluster, self.workers)
        check_segments(self.segments, self.keep_segments)
        if self.chroma not in CHROMA:
            raise InputError(
                f"got `chroma`={quoted(self.chroma)}; expected one of {', '.join(CHROMA)}",
                parameter="chroma",
            )
        for name, allowed in (("method", METHODS), ("source_kind", SOURCES)):
            if getattr(self, name) is not None:
                choice(name, getattr(self, name), (AUTO, *allowed))
        if self.model is not None:
            exclude(method=self.method, source_kind=self.source_kind)
        goal = self.goal  # which checks what it is made of
        if self.scale is not None and goal.scale in SCALES:
            object.__setattr__(self, "scale", int(self.scale))

    @property
    def goal(self) -> Target:
        """What `scale`, `size`, `height` and `fit` ask for together."""
        return target(self.scale, self.size, self.height, self.fit)

    @property
    def magnification(self) -> int | None:
        """The one magnification that gives the result; None: several, or a filter after them."""
        scale = self.goal.scale
        return int(scale) if scale in SCALES else None


@dataclass(frozen=True, slots=True, repr=False)
class UpscaleResult(Brief):
    """What an UpscaleJob made."""

    source: Path
    """The job's input."""
    target: Path
    """The file that was written."""
    width: int
    """Pixels of the result, across."""
    height: int
    """Pixels of the result, down."""
    device: str
    """What did the work: "cpu", or the GPU's own name."""
    warnings: tuple[str, ...] = ()
    """What could not be carried over, or was changed. Names of parameters stand in backticks, which
    `snellen.errors.plain` takes away."""
    summary: Summary | None = None
    """Of a video: frames, seconds, encoder, losses …; None: an image."""
    error: SnellenError | None = None
    """IncompleteError where the input was damaged; the result then holds what could be decoded."""
    profile: Profile | None = None
    """Time of each stage, where the job asks for it."""
    model: str = ""
    """Name of the model, or its file."""
    method: str = ""
    """Of the model: "aplus" or "cnn"."""
    source_kind: str | None = None
    """The kind of pictures that it was chosen for, and why; None: it was not chosen."""
    pages: int = 1
    """Of a TIFF file; sizes are those of the first page."""


def run_upscale(job: UpscaleJob, events: Events) -> UpscaleResult:
    """Enlarge one file.

    Raises
    ------
    InputError, DeviceError, OutputError
        Nothing is left under the target's name.
    """
    if not makes_film(job.source, job.target, job.video.fps):
        return _image(job, events)
    return run_video(job, events)


def _image(job: UpscaleJob, events: Events) -> UpscaleResult:
    from snellen.frames.still import Still, write, write_pages
    from snellen.jobs.choice import Models
    from snellen.jobs.stills import damaged, further, opened, pages_of, rows_of
    from snellen.upscaling import image

    models = Models(job.model, job.method, job.source_kind)
    chroma = ("chroma",) if job.chroma != "auto" else ()
    pages = pages_of(job.source, job.target)
    still, lost = opened(
        job.source, job.target, strict=job.strict, overwrite=job.overwrite,
        unused=(*job.video.named(), *job.enhancement.named(), *chroma), quality=job.quality,
        events=events, page=pages[0] if pages else None,
    )  # fmt: skip

    def work(given: Any, device: str) -> tuple[Any, str]:
        one = device.partition(",")[0]  # several share segments only
        report = rows_of(str(job.source), events)

        def enlarge(pixels: Any, scale: int) -> Any:
            return image.enlarged(
                pixels, scale, models(scale), one, report=report, **_samples(pixels)
            )

        scales = SCALES if job.magnification else models.scales
        return image_at(job.goal, given, enlarge, str(job.source), scales), one

    def larger(one: Still) -> Still:
        pixels, where = on_device(partial(work, one.pixels), job.device, str(job.source), events)
        used.append(devices.name(where))
        return replace(one, pixels=pixels)

    def others() -> Iterator[Still]:
        yield large
        for page in pages[1:]:
            one, said = further(job.source, job.target, page, strict=job.strict, events=events)
            more.extend(said)
            harm.extend(f"page {page.number + 1}: {text}" for text in one.damage)
            yield larger(one)

    used: list[str] = []
    more, harm = list(lost), list(still.damage)
    large = larger(still)
    if pages:
        write_pages(job.target, others(), len(pages), job.overwrite)
    else:
        write(job.target, large, job.overwrite, job.quality)
    height, width = large.pixels.shape[:2]
    error = damaged([(job.source, tuple(harm))], f"what could be decoded is in {job.target}")
    return UpscaleResult(
        job.source, job.target, width, height, used[0], tuple(more), error=error,
        pages=len(pages) or 1, **models.said(),
    )  # fmt: skip


def _samples(pixels: Any) -> dict[str, Any]:
    """Return what a file says of its pixels: whether they are colours, and what white is.

    Floats in files have no range of their own: white is 1, or the brightest where that is more.
    """
    data_range = None
    if pixels.dtype.kind == "f":
        most = float(abs(pixels).max())
        data_range = most if 1 < most < MOST else 1.0
    return {"data_range": data_range, "channel_axis": -1 if pixels.ndim == 3 else None}


def run_video(
    job: UpscaleJob, events: Events, changed: Callable[[Segments], Segments] | None = None
) -> UpscaleResult:
    """Enlarge a video; `changed` returns how it is cut, from how the job says it is."""
    from snellen.jobs.film import converted, damage
    from snellen.jobs.segments import segments_of

    job = settled(job, events)
    models = models_of(job)
    given = segments_of(
        job, models, events, workers=workers_of(job, events), tidied=changed is None
    )

    def segments() -> Segments | None:
        how = None if given is None else given()
        return how if how is None or changed is None else changed(how)

    summary = converted(
        job.source, job.target, enlarging(job, models, events), device=job.device, video=job.video,
        quality=job.quality, strict=job.strict, overwrite=job.overwrite, events=events,
        segments=segments,
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
    from snellen.jobs.film_blur import blur_of

    psf = blur_of(
        None if job.video.fps is not None else job.source, job.video.clip.map, options.crop,
        lambda text: notify(events, str(job.source), text),
        out=None if dry else options.deblur_psf_out, overwrite=job.overwrite,
    )  # fmt: skip
    return replace(job, enhancement=replace(options, deblur=psf, deblur_psf_out=None))


def workers_of(job: UpscaleJob, events: Events) -> Workers | None:
    """Return what opens the processes that work on a film's segments; None: there is one."""
    from snellen.jobs.film_workers import film_workers

    return film_workers(job, _made, (job.magnification or 2) ** 2, events)


def _made(job: UpscaleJob, device: str) -> Step | LateStep:
    """Return the step of a job whose source is a video, in a process of its own."""
    return enlarging(job, models_of(job))(device)


def models_of(job: UpscaleJob) -> Models:
    """Return the models of a job whose source is a video."""
    from snellen.jobs.choice import Models

    return Models(job.model, job.method, job.source_kind, job.source, job.video.clip.map)


def enlarging(
    job: UpscaleJob, models: Models, events: Events | None = None
) -> Callable[[str], Step | LateStep]:
    """Return what makes the step of a job whose source is a video, for a device.

    `events` receives what users may want to know of it.
    """
    from snellen.upscaling.upscaler import Upscaler
    from snellen.video.convert import LateStep

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
            late = enhanced(job.enhancement, late.make, say, first, models.area)
        if events is None or job.enhancement.crop is not None:
            return late
        return with_notice(late, models.area, say)

    return step
