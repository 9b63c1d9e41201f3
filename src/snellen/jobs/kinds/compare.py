"""The job that writes a report of a comparison, and its result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, SnellenError, quoted
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.frames.values import check_options
from snellen.jobs.inputs.inputs import PIPE, contents
from snellen.jobs.kinds.score import ScoreJob, ScoreOptions, ScoreResult
from snellen.jobs.options.options import path
from snellen.schema import FILES, option, parameters

if TYPE_CHECKING:
    from snellen.jobs.options.profile import Profile
else:
    # For `typing.get_type_hints`; its module takes long to import.
    Profile = Any

MOST_VARIANTS = 9
MOST_PICTURES = 64
LEAST_SIZE, MOST_SIZE = 1.0, 2000.0  # million bytes: Chromium opens no longer strings
REPORT_SIZE = 30.0  # million bytes, unless another one is asked for
SUFFIXES = (".html", ".htm")
_METRICS = parameters(ScoreOptions)["metrics"].about.help


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompareJob(ScoreOptions):
    """Compare videos, images or folders of images with a reference, as one HTML file.

    A value: it can be pickled, or written as JSON, and run in another process.

    Raises
    ------
    InputError
        Values that do not exist, or do not go together; `error.parameter` names one.
    """

    reference: Path
    """The video, image or folder of images that the others are compared with."""
    variants: tuple[Path, ...]
    """One to nine of the same kind. Those of another size are scaled to be scored."""
    target: Path
    """The HTML file."""
    metrics: tuple[str, ...] = option(
        ("mad", "psnr"), accepts="str | Sequence[str]", metavar="LIST",
        help=f"{_METRICS} Without mad there are no heat maps.",
    )  # fmt: skip
    pictures: int = option(
        8, least=1, most=MOST_PICTURES, group=FILES,
        help="Frames of which the report holds pictures: the three worst that lie apart, and "
        "others all over the video.",
    )  # fmt: skip
    report_size: float = option(
        REPORT_SIZE, metavar="NUMBER", group=FILES,
        help="Most million bytes of the report. Until it fits, the quality of pictures falls, then "
        "their size, then their number; the report says so.",
    )  # fmt: skip
    is_source: bool = False
    """True: the others were made of the reference, which is no original, and the page says so."""
    command: str | None = None
    """The command line, which the report names."""
    reached: str | None = None
    """The outcome of a film's target quality, which the report tells. None: it had none."""

    def __post_init__(self) -> None:
        for name in ("reference", "target"):
            object.__setattr__(self, name, path(getattr(self, name), name))
        if isinstance(self.variants, tuple):
            both = tuple(path(one, "variants") for one in self.variants)
            object.__setattr__(self, "variants", both)
        ScoreOptions.__post_init__(self)
        if not 1 <= len(self.variants) <= MOST_VARIANTS:
            raise InputError(
                f"got {len(self.variants)} files to compare with {self.reference}; expected 1 to "
                f"{MOST_VARIANTS}",
                parameter="variants",
            )
        if PIPE in (self.reference, *self.variants):
            raise InputError(
                "films are read twice; standard input can be read once", parameter="variants"
            )
        if self.target == PIPE or self.target.suffix.lower() not in SUFFIXES:
            raise InputError(
                f"got {self.target} for the report; expected a name that ends in .html",
                parameter="target",
            )
        check_options(self, "pictures")
        size = values.number(self.report_size)
        if size is None or not LEAST_SIZE <= size <= MOST_SIZE:
            raise InputError(
                f"got `report_size`={quoted(self.report_size)}; expected {LEAST_SIZE:g} to "
                f"{MOST_SIZE:g} million bytes",
                parameter="report_size",
            )
        object.__setattr__(self, "report_size", size)
        self.scoring()  # which checks what is left

    def scoring(self) -> tuple[ScoreJob, ...]:
        """Return the jobs that score each variant."""
        how = {one.name: getattr(self, one.name) for one in fields(ScoreOptions)}
        how |= {"overwrite": False, "profile": False}
        return tuple(
            ScoreJob(reference=self.reference, distorted=one, resize=True, **how)
            for one in self.variants
        )

    def check(self) -> str:
        """Return what the inputs are: "a video", "a folder" or "an image".

        Nothing is written.

        Raises
        ------
        InputError
            As `ScoreJob.check`; or the report must not be written.
        """
        from snellen.files import atomic

        (kind,) = {one.check() for one in self.scoring()}
        read = (self.reference, *self.variants)
        with atomic.protected(one for path in read for one in contents(path)):
            atomic.check_target(self.target, None, self.overwrite)
        return kind


@dataclass(frozen=True, slots=True, repr=False)
class CompareResult(Brief):
    """The result of a CompareJob."""

    target: Path
    """The HTML file."""
    kind: str
    """The kind of the inputs: "a video", "a folder" (of images) or "an image"."""
    scores: tuple[ScoreResult, ...]
    """The scores of each variant."""
    pictures: int
    """Frames of which the report holds pictures."""
    kept: str
    """A sentence about how pictures are kept."""
    size: int
    """The file's size in bytes."""
    seconds: float
    """The duration of the work."""
    warnings: tuple[str, ...] = ()
    """Differences between the inputs, and what does not count."""
    error: SnellenError | None = None
    """IncompleteError where an input was damaged."""
    profile: Profile | None = None
    """Time of each stage, where the job asks for it."""
