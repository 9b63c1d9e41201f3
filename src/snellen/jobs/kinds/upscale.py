"""The job that enlarges an image or a video, its result, and what runs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import SnellenError
from snellen.frames.brief import Brief
from snellen.frames.values import check_options
from snellen.jobs.kinds.enhance import Enhancement
from snellen.jobs.options.options import FileOptions, path
from snellen.schema import ENHANCEMENT, option
from snellen.upscaling import shipped
from snellen.upscaling.shipped import AUTO, CHROMA, DEFAULT, FITS, OWN, SCALES, exclude, known

if TYPE_CHECKING:
    from snellen.jobs.options.profile import Profile
    from snellen.upscaling.target import Target
    from snellen.video.convert import Summary
else:
    # For `typing.get_type_hints`; the modules of these types take long to import.
    Profile = Summary = Target = Any

_METHODS, _KINDS = shipped.methods(), shipped.kinds()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UpscaleJob(FileOptions):
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
    scale: float | None = option(
        None, unset="2, unless there is a `size` or a `height`", metavar="N",
        help="Magnification: 2, 3, 4, or any number above 1 up to 16, as 1.5. For others than the "
        "first three, the smallest of these that reaches it, or two in a row, enlarges, and a "
        "filter makes the result as small as it is to be.",
    )  # fmt: skip
    size: str | None = option(
        None, more="Or (3840, 2160).", accepts="str | tuple[int, int] | None", metavar="WxH|4k|…",
        help="Size instead of `scale`: 3840x2160, 8k, 4k, 2160p, 1440p, 1080p or 720p; the "
        "largest picture inside it, with square pixels.",
    )  # fmt: skip
    height: int | None = option(None, "Rows instead of `scale`; the width follows.", least=1)
    fit: str | None = option(
        None, choices=FITS,
        help="How a picture of another shape becomes exactly `size`: pad it with black, crop what "
        "is beyond it, or stretch it.",
    )  # fmt: skip
    model: str | Path | None = option(
        None, unset="by scale, `method` and `source_kind`", metavar="NAME|FILE", effect="contents",
        help="A shipped model's name (snellen doctor lists them; t91-x2 is A+ of 2014), or a "
        ".safetensors file of A+ or of a compact network. It makes a `size`, `height` or `scale` "
        "of another magnification, too, if need be twice.",
    )  # fmt: skip
    method: str | None = option(
        None, accepts="Method | None", choices=(AUTO, *_METHODS), advice=OWN,
        command=len(_METHODS) > 1,
        help="What enlarges luma; not with `model`.",
        unset=f"auto, which is {DEFAULT}",
    )  # fmt: skip
    source_kind: str | None = option(
        None, accepts="SourceKind | None", choices=(AUTO, *_KINDS), flag="--source",
        command=len(_KINDS) > 1,
        help="What the pictures are: clean, film (coded) or soft (coded and blurred); not with "
        "`model`.",
        unset="auto: of images clean, with a notice if they look coded; of videos what codec, "
        "bits, sharpness and traces of coding say",
    )  # fmt: skip
    chroma: str = option(
        "auto", choices=CHROMA, media="video",
        help="Where a video's chroma is enlarged if a GPU enlarges luma.",
    )  # fmt: skip
    enhancement: Enhancement = option(Enhancement, group=ENHANCEMENT, media="video")
    """Further steps for a video's frames."""

    def __post_init__(self) -> None:
        from snellen.upscaling.target import text_of  # help does without

        object.__setattr__(self, "source", path(self.source, "source"))
        object.__setattr__(self, "target", path(self.target, "target"))
        object.__setattr__(self, "size", text_of(self.size))
        FileOptions.__post_init__(self)
        check_options(self, "chroma")
        known("method", self.method)
        known("source_kind", self.source_kind)
        if self.model is not None:
            exclude(method=self.method, source_kind=self.source_kind)
        goal = self.goal  # which checks what it is made of
        if self.scale is not None and goal.scale in SCALES:
            object.__setattr__(self, "scale", int(self.scale))

    @property
    def goal(self) -> Target:
        """Return what `scale`, `size`, `height` and `fit` ask for together."""
        from snellen.upscaling.target import target

        return target(self.scale, self.size, self.height, self.fit)

    @property
    def magnification(self) -> int | None:
        """The one magnification that gives the result; None: several, or a filter after them."""
        scale = self.goal.scale
        return int(scale) if scale in SCALES else None


@dataclass(frozen=True, slots=True, repr=False)
class UpscaleResult(Brief):
    """The result of an UpscaleJob."""

    source: Path
    """The job's input."""
    target: Path
    """The file that was written."""
    width: int
    """Pixels of the result, across."""
    height: int
    """Pixels of the result, down."""
    device: str
    """The device that did the work: "cpu", or the GPU's own name."""
    warnings: tuple[str, ...] = ()
    """Losses and changes. Names of parameters stand in backticks, which
    `snellen.errors.plain` takes away."""
    summary: Summary | None = None
    """The summary of a video: frames, seconds, encoder, losses …; None: an image."""
    error: SnellenError | None = None
    """IncompleteError where the input was damaged; the result then holds what could be decoded."""
    profile: Profile | None = None
    """Time of each stage, where the job asks for it."""
    model: str = ""
    """Name of the model, or its file."""
    method: str = ""
    """The model's method: "aplus" or "cnn"."""
    source_kind: str | None = None
    """The kind of pictures that it was chosen for, and why; None: it was not chosen."""
    pages: int = 1
    """Pages of a TIFF file; sizes are those of the first page."""
