"""snellen.deblur_file and deblur_files, which do from Python what the command does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from snellen.frames.values import flag
from snellen.jobs.arguments import arguments, deblur_job
from snellen.jobs.deblur import DeblurJob, DeblurResult, psf_targets
from snellen.jobs.events import Events
from snellen.jobs.execute import raised
from snellen.jobs.inputs import claim
from snellen.jobs.naming import SHARP
from snellen.jobs.options import (
    File,
    Time,
    optional_path,
    paths,
)
from snellen.jobs.planning import plan
from snellen.jobs.positions import Region
from snellen.jobs.report_after import with_report
from snellen.jobs.several import each_file
from snellen.mia.result import AUTO
from snellen.process import while_running


@while_running
def deblur_file(
    source: File | Sequence[File],
    target: File | None = None,
    psf: Any = None,
    psf_size: int | None = None,
    iterations: int | None = None,
    noise: str = "poisson",
    *,
    read_noise: float = 0.0,
    tv: float | None = None,
    prior: str | None = AUTO,
    psf_start: Any = None,
    edges: str = "extend",
    recentre: bool | str = True,
    tolerance: float = 0.0,
    tile: int | None = None,
    data_range: float | None = None,
    region: str | Sequence[int] | Region | None = None,
    positions: File | Sequence[tuple[int, int]] | None = None,
    paste_back: bool = False,
    window: int = 1,
    warm: bool = False,
    psf_out: File | None = None,
    device: str | Sequence[str] = "auto",
    dtype: str | None = None,
    start: Time | None = None,
    duration: Time | None = None,
    frames: int | None = None,
    deinterlace: bool | str = False,
    interlaced: str = "auto",
    ivtc: bool = False,
    decoder: str = "auto",
    codec: str | None = None,
    preset: str | None = None,
    crf: float | None = None,
    target_mad: float | None = None,
    target_vmaf: float | None = None,
    target_pool: str | None = None,
    max_bitrate: int | str | None = None,
    encoder_options: Mapping[str, str] | None = None,
    pix_fmt: str | None = None,
    colour: str = "auto",
    audio: str = "copy",
    map: str | Sequence[str] | None = None,
    fps: float | str | Fraction | None = None,
    quality: int | None = None,
    strict: bool = False,
    overwrite: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    profile: bool = False,
    segments: bool = True,
    keep_segments: bool = False,
    discard_segments: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    report: File | None = None,
    report_size: float = 30.0,
    events: Events | None = None,
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
    psf : array, str, Path, optional
        The blur, where it is known: an array (…, K, K) as for `snellen.deblur`, a .npy file, or a
        grey image.
    psf_size : int, optional
        Side in pixels of the PSF that is estimated, at most the picture's; None: 31.
    iterations : int, optional
        1 or more; None: 200.
    noise : str
        "poisson", of light that is counted, or "gaussian", equal everywhere.
    read_noise : float
        Standard deviation of Gaussian noise added to Poisson's, white being 1; from 0 to 1000.
    tv : float, optional
        Weight of total variation, from 0 to 0.1; None: 0, with a prior by the noise: 0.001,
        0.002 or 0.004.
    prior : str, optional
        "l0": the blur is found from sharp edges, for a single shaken photograph. "auto": that, of
        an image without `psf` and `psf_start`; one without blur stays as it is, with a notice, and
        one that is too noisy, or whose blur is not plausible, with a warning. "frames": "auto", of
        each frame of a video, too. None, and with "auto" all else: plain MIA.
    psf_start : float, array, str, Path, optional
        Where the search starts: σ of a Gaussian in pixels, or a PSF as `psf`; None: 2.
    edges : str
        What is beyond the picture: "extend", "taper" or "circular".
    recentre : bool or "whole"
        Whether a PSF that was found, and the picture with it, is moved so that its centre of mass
        is the middle; "whole": by whole pixels.
    tolerance : float
        Stop when ten iterations change the picture by less, relative to it; 0: never.
    tile : int, optional
        Side in pixels of tiles, each with a PSF of its own; None: one PSF for the whole picture.
    data_range : float, optional
        Sample value of white of float images; None: 1, or the brightest sample where that is
        beyond 2, which is said. That of others goes by their bits.
    region : str, sequence of int, optional
        What is restored of the picture: (x, y, width, height) in pixels, or "X,Y,W,H". None: all of
        it.
    positions : str, Path, sequence of pairs, optional
        Of a video: (x, y) of the region in each frame, or a text file with a line "X,Y" for each;
        of `region` width and height count.
    paste_back : bool
        Whether the result is the whole picture with the restored region, not only the region.
    window : int
        Restore each frame of a video from so many: itself and those before it.
    warm : bool
        Whether each frame of a video starts with the PSF of the last one.
    psf_out : str or Path, optional
        File for the PSF: .npy holds all that were found, .png the last one, white being its
        greatest value.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N", or "auto": the first GPU where it works. Where the memory
        of "auto"'s GPU does not suffice, the CPU does the work, with a warning.
    dtype : str, optional
        "float32" or "float64", of the computation; None: float32.
    start, duration, frames, deinterlace, interlaced, ivtc
        How a video is read: as for `upscale_file`.
    decoder, codec, preset, crf, encoder_options, pix_fmt, colour, audio, map, fps
        How it is decoded and encoded: as for `upscale_file`.
    target_mad, target_vmaf, target_pool, max_bitrate
        The quality of the encoding: as for `upscale_file`. No target with `warm` and `positions`.
    quality, strict, overwrite, max_pixels, threads, profile
        As for `upscale_file`.
    segments, keep_segments, discard_segments, workers, cluster
        As for `upscale_file`. With `warm`, and with `positions`, a film is made in one piece.
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
    job = deblur_job(locals())
    return raised(with_report(job, report, report_size, events))


@while_running
def deblur_files(
    sources: File | Sequence[File],
    target: File | None = None,
    *,
    psf_out: File | None = None,
    recursive: bool = False,
    skip_existing: bool = False,
    events: Events | None = None,
    **options: Any,
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

    def restored(source: Path, goal: Path, **how: Any) -> DeblurResult:
        return deblur_file(source, goal, psf_out=psf_of[goal], **how)

    def job(source: Path, goal: Path, **how: Any) -> DeblurJob:
        return deblur_job(arguments(deblur_file, source, goal, psf_out=psf_of[goal], **how))

    return each_file(restored, job, todo, events, options)
