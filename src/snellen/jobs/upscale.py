"""The job that enlarges an image or a video, its result, and what runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.errors import InputError, SnellenError, quoted
from snellen.frames.brief import Brief
from snellen.jobs.cluster_connection import check_cluster
from snellen.jobs.enhance import Enhancement
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
from snellen.jobs.serial import Job
from snellen.upscaling.shipped import exclude, known
from snellen.upscaling.target import SCALES, Target, target, text_of

if TYPE_CHECKING:
    from snellen.video.convert import Summary

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
    "auto" or None: of a video, what its codec, bits, sharpness and traces of coding say; of an
    image "clean", with a notice if it looks coded. Not with `model`."""
    device: str = "auto"
    """"auto", "cpu", "cuda" or "cuda:N"; several GPUs, "cuda:all" or "cuda:0,cuda:1", share the
    segments of a film, and several files; all else is the first one's."""
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
    """Processes that share a film's segments, or several files; None: one, or one for each GPU."""
    cluster: str | None = None
    """The cluster of Ray that makes a film's segments, or several files; None: this machine."""

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
        known("method", self.method)
        known("source_kind", self.source_kind)
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
