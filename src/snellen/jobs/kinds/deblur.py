"""The job that deblurs an image, a burst of images or a video by MIA, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, SnellenError
from snellen.frames.brief import Brief
from snellen.frames.values import check_options
from snellen.jobs.options.methods import MiaSettings
from snellen.jobs.options.options import FileOptions, optional_path, path, paths
from snellen.jobs.options.positions import Region
from snellen.schema import BLUR, FILES, METHOD, REGION, option

if TYPE_CHECKING:
    from snellen.jobs.options.profile import Profile
    from snellen.jobs.steps.deblur_step import FitStatistics, FrameFit
    from snellen.video.convert import Summary
else:
    # For `typing.get_type_hints`; the modules of these types take long to import.
    FitStatistics = FrameFit = Profile = Summary = Any

_CONFLICTS = (
    ("psf", "psf_size", "the given PSF has a size"),
    ("psf", "psf_start", "no PSF is searched for"),
    ("psf", "prior", "a prior finds the PSF, which is given"),
    ("psf", "warm", "a given PSF is the same in every frame"),
    ("prior", "psf_start", "a prior starts from nothing"),
    ("prior", "warm", "a prior finds each PSF from nothing"),
    ("tile", "warm", "each tile has a PSF of its own"),
    ("burst", "prior", "a prior finds the PSF of one picture"),
    ("window", "prior", "a prior finds the PSF of one frame"),
)
"""Parameters that do not go together, and why."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DeblurJob(FileOptions):
    """Restore one image or video by MIA, and find its blur.

    A value: it can be pickled, or written as JSON, and run in another process.

    Raises
    ------
    InputError
        Values that do not exist, or do not go together; `error.parameter` names one.
    """

    source: Path | tuple[Path, ...]
    """Image or video file; "-": standard input. Several images of one object, a burst, are
    a tuple: they become one image."""
    target: Path
    """File for the result; "-": y4m on standard output."""
    mia: MiaSettings = option(MiaSettings, group=METHOD)
    """Settings of the method."""
    region: Region | None = option(
        None, more="Or four numbers.", accepts="str | Sequence[int] | Region | None", flag="--roi",
        metavar="X,Y,W,H", group=REGION,
        help="Restore this region only, X,Y,W,H in pixels, and write it alone.",
    )  # fmt: skip
    paste_back: bool = option(
        False, "Write the whole picture, the restored region put back.", group=REGION
    )
    window: int = option(
        1, least=1, group=BLUR, media="video",
        help="Restore each frame of a video from so many: itself and those before it.",
    )  # fmt: skip
    warm: bool = option(
        False, "Start each frame of a video with the last one's blur.", group=BLUR, media="video"
    )
    psf_out: Path | None = option(
        None, accepts="File | None", writes=True, group=FILES,
        help="Write the blur: .npy holds all that were found, .png (white: its greatest value) "
        "the last one; of several inputs name a folder.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        source: Any = self.source
        if isinstance(source, list | tuple):
            source = paths(source, "source")
        else:
            source = path(source, "source")
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "target", path(self.target, "target"))
        object.__setattr__(self, "psf_out", optional_path(self.psf_out, "psf_out"))
        FileOptions.__post_init__(self)
        check_options(self, "window")
        self._check_conflicts()
        if self.is_burst:
            self._check_burst()

    @property
    def is_burst(self) -> bool:
        """Return whether several images show one object."""
        return isinstance(self.source, tuple)

    @property
    def sources(self) -> tuple[Path, ...]:
        """All files that are read as pictures."""
        return self.source if isinstance(self.source, tuple) else (self.source,)

    def check(self) -> None:
        """Refuse (InputError) PSFs and positions that cannot be read, and a wrong `psf_out`.

        Nothing is written. Pictures are not read: `run` does that.
        """
        from snellen.jobs.inputs.naming import is_joined
        from snellen.jobs.options import psf_files

        for psf in (self.mia.psf, self.mia.psf_start):
            if isinstance(psf, Path):
                psf_files.read(psf)
        if self.region is not None:
            self.region.track()
        if self.psf_out is not None:
            files = [psf for psf in (self.mia.psf, self.mia.psf_start) if isinstance(psf, Path)]
            used = (*self.sources, *files)
            # A run that was killed just before its film got its name has written the PSFs.
            again = self.overwrite or (self.segments and is_joined(self.target))
            psf_files.check_target(self.psf_out, used, (self.target,), again)

    def _check_conflicts(self) -> None:
        mia = self.mia
        given = {
            "psf": mia.psf is not None, "psf_size": mia.psf_size is not None,
            "psf_start": mia.psf_start is not None,
            "prior": mia.prior not in (None, "auto"),
            "tile": mia.tile is not None, "warm": self.warm, "window": self.window > 1,
            "burst": self.is_burst,
        }  # fmt: skip
        for one, other, why in _CONFLICTS:
            if given[one] and given[other]:
                raise InputError(
                    f"got `{one}` with `{other}`: {why}",
                    parameter=one,
                    advice="leave one of them out",
                )
        if self.paste_back and self.region is None:
            raise InputError(
                "got `paste_back` without a region",
                parameter="paste_back",
                advice="add `region` X,Y,W,H",
            )

    def _check_burst(self) -> None:
        from snellen.files.kinds import is_image

        others = [one for one in self.sources if not is_image(one)]
        if others:
            raise InputError(
                f"{others[0]} is no image; of a video `window` takes frames together",
                parameter="source",
            )
        if len(self.sources) < 2:
            raise InputError("a `burst` needs two images or more of one object", parameter="source")
        if self.target.is_dir():
            raise InputError(
                f"{self.target} is a folder; a `burst` makes one image",
                parameter="target",
                advice="name a file as `target`",
            )


@dataclass(frozen=True, slots=True, repr=False)
class DeblurResult(Brief):
    """The result of a DeblurJob."""

    source: Path | tuple[Path, ...]
    """The job's input."""
    target: Path
    """The file that was written."""
    width: int
    """Pixels of the result, across."""
    height: int
    """Pixels of the result, down."""
    device: str
    """The device that did the work: "cpu", or the GPU's own name."""
    fit: float
    """Mismatch between the model and the input (see `snellen.Restored`); of a video the mean."""
    iterations: float
    """So many were done; of a video the mean."""
    psf: Any = field(compare=False, repr=False)
    """The blur, (…, K, K) float32; of a video that of the last frame."""
    psf_file: Path | None = None
    """Where the job's `psf_out` was written."""
    ms: float | None = None
    """Milliseconds of an image; None: a video."""
    outcome: str | None = None
    """With ``prior="auto"``: "restored", "no blur" (found) or "implausible" (the one that was
    found): it is then as it was. Of tiles and frames "restored" if one is. None: not asked."""
    warnings: tuple[str, ...] = ()
    """Losses and changes. Names of parameters stand in backticks, which
    `snellen.errors.plain` takes away."""
    summary: Summary | None = None
    """The summary of a video: frames, seconds, encoder, losses …; None: an image."""
    statistics: FitStatistics | None = None
    """Means and percentiles over the frames of a video."""
    frames: tuple[FrameFit, ...] = ()
    """Each frame of a video."""
    error: SnellenError | None = None
    """IncompleteError where the input was damaged; the result then holds what could be decoded."""
    profile: Profile | None = None
    """Time of each stage, where the job asks for it."""


def psf_targets(targets: Sequence[Path], psf_out: Path | None) -> list[Path | None]:
    """Return where the PSF of each of several results goes; None: nowhere.

    `psf_out` is a file for one result; a folder for several, which need not exist, and in which a
    PSF is called as its result with .npy behind. InputError: several results, but no folder.
    """
    if psf_out is None:
        return [None] * len(targets)
    from snellen.jobs.options.psf_files import SUFFIXES

    if not psf_out.is_dir():
        if len(targets) < 2:
            return [psf_out] * len(targets)
        if psf_out.exists() or psf_out.suffix.lower() in SUFFIXES:
            raise InputError(
                f"{psf_out}: several inputs need a folder for their PSFs",
                parameter="psf_out",
                advice="name a folder",
            )
    return [psf_out / f"{target.name}.npy" for target in targets]


def method_settings(job: DeblurJob) -> dict[str, Any]:
    """Return the settings of a job for `snellen.deblur`, with arrays instead of files."""
    from snellen.jobs.options import psf_files

    settings = job.mia.given()
    settings["psf"] = psf_files.resolved(job.mia.psf)
    if (start := psf_files.resolved(job.mia.psf_start)) is not None:
        settings["start"] = start
    return settings
