"""snellen.upscale_file and upscale_files, which do from Python what the command does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from snellen.frames.values import flag
from snellen.jobs.calls.execute import raised
from snellen.jobs.calls.planning import plan, source_and_target
from snellen.jobs.calls.report_after import with_report
from snellen.jobs.calls.several import each_file
from snellen.jobs.events import Events
from snellen.jobs.inputs.naming import enlarged, goal_of
from snellen.jobs.kinds.compare import REPORT_SIZE
from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult
from snellen.jobs.options.arguments import takes
from snellen.jobs.options.keywords import UpscaleKeywords, UpscaleSeveral
from snellen.jobs.options.options import File, optional_path, paths
from snellen.process import while_running
from snellen.schema import nested


@while_running
@takes(UpscaleJob)
def upscale_file(
    source: File,
    target: File | None = None,
    scale: float | None = None,
    model: File | None = None,
    device: str | Sequence[str] = "auto",
    *,
    report: File | None = None,
    report_size: float = REPORT_SIZE,
    events: Events | None = None,
    **options: Unpack[UpscaleKeywords],
) -> UpscaleResult:
    """Enlarge an image or video file by super-resolution.

    Of a video every frame is enlarged; sound, subtitles, tags and chapters are copied. The target
    appears only when it is complete.

    Parameters
    ----------
    source : str or Path
        Image or video; "-": standard input, y4m or an image.
    target : str, Path or None
        File to write; its suffix says which format, and its folder is made where it is missing. Or
        a folder, which exists or ends with "/": the file in it is called as the source. "-": y4m on
        standard output.
        None: beside the source, as film-4k.mkv or photo-x2.png.
    **options
        Options of `snellen.jobs.UpscaleJob`.
    report : str, Path or None
        A report to look at, .html, as of `compare_files`: the result beside its source; None: none.
    report_size : float
        Most million bytes of the report.
    events : Events, optional
        Receives progress and warnings: `snellen.jobs.Bar()` draws them, in a notebook, too; or an
        object with the methods of `snellen.jobs.events.Events`.

    Returns
    -------
    UpscaleResult

    Raises
    ------
    InputError, ModelError, DeviceError
        Wrong use, an unusable input, model or device: nothing is written.
    OutputError
        The result could not be written; nothing is left under its name.
    IncompleteError
        The video was damaged: what could be decoded is written, and `error.result` is the
        UpscaleResult.

    See Also
    --------
    upscale_files : the same for several files, and folders of them.
    """
    job = _job(source, target, scale=scale, model=model, device=device, **options)
    return raised(with_report(job, report, report_size, events))


@while_running
@takes(upscale_file)
def upscale_files(
    sources: File | Sequence[File],
    target: File | None = None,
    *,
    recursive: bool = False,
    skip_existing: bool = False,
    events: Events | None = None,
    **options: Unpack[UpscaleSeveral],
) -> list[UpscaleResult]:
    """Enlarge several files, or all videos and images of folders.

    With `workers`, several GPUs or a `cluster` several files are made at once; long films follow.

    Parameters
    ----------
    sources : str, Path or sequence of these
        Videos, images and folders of them.
    target : str, Path or None
        Folder, which is made where it is missing. Files in it are called as their sources;
        containers that cannot be written become .mkv. None: beside each source, as film-4k.mkv or
        photo-x2.png; for a folder, as photos-x2.
    recursive : bool
        Whether folders in folders are searched too, and come into folders of the same names. Links
        to folders, and what begins with a dot, are left out.
    skip_existing : bool
        Whether sources are left out whose results are there.
    events : Events, optional
        Receives what is reported of all files, equal warnings once.
    **options
        As for `upscale_file`.

    Returns
    -------
    list of UpscaleResult
        One for each file that was not left out, in the order of the sources; of a folder by name.

    Raises
    ------
    SnellenError
        That of the first file that failed, as of `upscale_file`, after all others are done;
        `error.__notes__` has the errors of further files.
    """
    sized = goal_of(options)
    todo = plan(
        paths(sources, "source"), optional_path(target, "target"),
        lambda one: enlarged(one, sized), into=True, recursive=recursive,
        skip_existing=skip_existing, overwrite=flag("overwrite", options.get("overwrite", False)),
        sequences=options.get("fps") is not None,
    )  # fmt: skip
    return each_file(_job, todo, events, dict(options))


def _job(source: File, target: File | None, **options: Any) -> UpscaleJob:
    """Return the job of the arguments of `upscale_file`, but those of its report."""
    fields = nested(UpscaleJob, options)
    fps, sized = fields["video"].fps, goal_of(options)
    file, goal = source_and_target(source, target, lambda one: enlarged(one, sized), fps)
    return UpscaleJob(source=file, target=goal, **fields)
