"""snellen.deblur_file and deblur_files, which do from Python what the command does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from snellen.frames.values import flag
from snellen.jobs.calls.execute import raised
from snellen.jobs.calls.planning import plan, source_and_target
from snellen.jobs.calls.report_after import with_report
from snellen.jobs.calls.several import each_file
from snellen.jobs.events import Events
from snellen.jobs.inputs.inputs import claim
from snellen.jobs.inputs.naming import SHARP, beside
from snellen.jobs.inputs.patterns import matching
from snellen.jobs.kinds.compare import REPORT_SIZE
from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult, psf_targets
from snellen.jobs.options.arguments import takes
from snellen.jobs.options.keywords import DeblurKeywords, DeblurSeveral
from snellen.jobs.options.options import File, optional_path, paths
from snellen.jobs.options.positions import Region
from snellen.process import while_running
from snellen.schema import nested


@while_running
@takes(DeblurJob)
def deblur_file(
    source: File | Sequence[File],
    target: File | None = None,
    psf: Any = None,
    psf_size: int | None = None,
    iterations: int | None = None,
    noise: str = "poisson",
    *,
    positions: File | Sequence[tuple[int, int]] | None = None,
    psf_out: File | None = None,
    report: File | None = None,
    report_size: float = REPORT_SIZE,
    events: Events | None = None,
    **options: Unpack[DeblurKeywords],
) -> DeblurResult:
    """Restore a blurred image or video file by MIA, and find its blur.

    Of a video luma is restored, frame by frame, and chroma kept; sound, subtitles, tags and
    chapters are copied. Of a colour image the blur is that of luma. The target appears only when it
    is complete.

    Parameters
    ----------
    source : str, Path or sequence of these
        Image or video; "-": standard input, y4m or an image. A sequence: images of one object, a
        burst, which become one image.
    target : str, Path or None
        File to write; its suffix says which format, and its folder is made where it is missing. Or
        an existing folder: the file in it is called as the source. "-": y4m on standard output.
        None: beside the source, or the first of a burst, as photo-sharp.png.
    positions : str, Path, sequence of pairs, optional
        Of a video: (x, y) of the region in each frame, or a text file with a line "X,Y" for each;
        of `region` width and height count.
    **options
        Options of `snellen.jobs.DeblurJob`.
    report : str, Path or None
        A report to look at, .html, as of `compare_files`: the result beside its source; None: none.
    report_size : float
        Most million bytes of the report.
    events : Events, optional
        As for `upscale_file`; it also hears of each frame of a video, of one that is made in
        segments when it is complete.

    Returns
    -------
    DeblurResult

    Raises
    ------
    InputError, DeviceError
        Wrong use, an unusable input or device: nothing is written.
    OutputError
        The result could not be written; nothing is left under its name.
    IncompleteError
        The video was damaged: what could be decoded is written, and `error.result` is the
        DeblurResult.

    See Also
    --------
    deblur_files : the same for several files, and folders of them.
    """
    job = _job(
        source, target, psf=psf, psf_size=psf_size, iterations=iterations, noise=noise,
        positions=positions, psf_out=psf_out, **options,
    )  # fmt: skip
    return raised(with_report(job, report, report_size, events))


@while_running
@takes(deblur_file)
def deblur_files(
    sources: File | Sequence[File],
    target: File | None = None,
    *,
    psf_out: File | None = None,
    recursive: bool = False,
    skip_existing: bool = False,
    events: Events | None = None,
    **options: Unpack[DeblurSeveral],
) -> list[DeblurResult]:
    """Restore several files, or all videos and images of folders.

    With `workers`, several GPUs or a `cluster` several files are made at once; long films follow.

    Parameters
    ----------
    sources : str, Path or sequence of these
        Videos, images and folders of them: each becomes a result of its own.
    target : str, Path or None
        Folder, which is made where it is missing. Files in it are called as their sources;
        containers that cannot be written become .mkv. None: beside each source, as
        photo-sharp.png; for a folder, as photos-sharp.
    psf_out : str or Path, optional
        Folder: the PSF of the result a.png becomes a.png.npy in it. Of one source it may be a file.
    recursive, skip_existing
        As for `upscale_files`.
    events : Events, optional
        Receives what is reported of all files, equal warnings once.
    **options
        As for `deblur_file`.

    Returns
    -------
    list of DeblurResult
        One for each file that was not left out, in the order of the sources; of a folder by name.

    Raises
    ------
    SnellenError
        That of the first file that failed, as of `deblur_file`, after all others are done;
        `error.__notes__` has the errors of further files.
    """
    todo = plan(
        paths(sources, "source"), optional_path(target, "target"), lambda one: SHARP, into=True,
        recursive=recursive, skip_existing=skip_existing,
        overwrite=flag("overwrite", options.get("overwrite", False)),
    )  # fmt: skip
    targets = [goal for _, goal in todo.pairs]
    psfs = psf_targets(targets, optional_path(psf_out, "psf_out"))
    claim([*targets, *(one for one in psfs if one is not None)], {}, "psf_out")
    psf_of = dict(zip(targets, psfs, strict=True))

    def job(source: Path, goal: Path, **how: Any) -> DeblurJob:
        return _job(source, goal, psf_out=psf_of[goal], **how)

    return each_file(job, todo, events, dict(options))


def _job(
    source: File | Sequence[File], target: File | None, *, positions: Any = None, **options: Any
) -> DeblurJob:
    """Return the job of the arguments of `deblur_file`, but those of its report."""
    fields = nested(DeblurJob, options)
    fps, psf_out = fields["video"].fps, fields.pop("psf_out", None)
    files: Path | tuple[Path, ...]
    if isinstance(source, File):
        files, goal = source_and_target(source, target, lambda one: SHARP, fps)
    else:
        files = tuple(one for typed in paths(source, "source") for one in matching(typed))
        goal = optional_path(target, "target") or (beside(files[0], SHARP) if files else Path())
    fields["region"] = Region.of(fields.get("region"), positions)
    (fields["psf_out"],) = psf_targets([goal], optional_path(psf_out, "psf_out"))
    return DeblurJob(source=files, target=goal, **fields)
