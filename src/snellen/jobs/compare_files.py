"""snellen.compare_files, which does from Python what the command does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snellen.jobs.compare import CompareJob, CompareResult
from snellen.jobs.events import Events
from snellen.jobs.execute import raised, run
from snellen.jobs.options import File, MadSettings, Time, device_list, path, paths, seconds
from snellen.jobs.patterns import the_only
from snellen.metrics.registry import chosen
from snellen.process import while_running
from snellen.video.clip import Clip


@while_running
def compare_files(
    reference: File,
    variants: File | Iterable[File],
    target: File,
    *,
    metrics: str | Sequence[str] = "mad,psnr",
    pictures: int = 8,
    report_size: float = 30.0,
    variant: str = "2011",
    hi_scale: float = 200.0,
    eight_bit_lut: bool = False,
    data_range: float | None = None,
    align: bool = False,
    every: int = 1,
    frames: int | None = None,
    start: Time | None = None,
    duration: Time | None = None,
    deinterlace: bool | str = False,
    interlaced: str = "auto",
    ivtc: bool = False,
    overwrite: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    device: str | Sequence[str] = "auto",
    dtype: str | None = None,
    decoder: str = "auto",
    profile: bool = False,
    events: Events | None = None,
) -> CompareResult:
    """Compare videos, images or folders of images with a reference, as one HTML file.

    The file opens offline in any browser: pictures on two sides of a divider, or side by side, with
    heat maps of MAD, curves of all frames, statistics, and facts about the files.

    Parameters
    ----------
    reference : str or Path
        A video, an image, or a folder of images.
    variants : str, Path, or several
        One to nine of the same kind, which are compared with it. What has another size is scaled by
        Lanczos to be scored; pictures are shown as they are. Images of folders meet by name without
        the suffix.
    target : str or Path
        The report, .html.
    metrics : str or sequence of str
        "mad,psnr,ssim", or some of these. Without "mad" there are no heat maps. Beside them, of
        films, "vmaf": where FFmpeg has the filter libvmaf, as in PyAV 19 (Python 3.12 or later).
    pictures : int
        Frames of which the report holds pictures, up to 64: the three worst that lie apart, and
        others all over the video.
    report_size : float
        Most million bytes of the file. Until it fits, the quality of pictures falls, then their
        size, then their number; the report says so. Crops of the worst places stay without loss.
    variant, hi_scale, eight_bit_lut, dtype
        Which MAD: as for `score_files`.
    data_range : float, optional
        Sample value of white of float images; None: 1.
    align : bool
        Whether the offset of each video is found from what it shows.
    every, frames, start, duration
        Which frames are scored: as for `score_files`.
    deinterlace, interlaced, ivtc
        What becomes of interlaced video, of all: as for `upscale_file`.
    overwrite : bool
        Whether an existing report is replaced.
    max_pixels, threads, device, decoder, profile
        As for `score_files`.
    events : Events, optional
        Receives progress, warnings and each score.

    Returns
    -------
    CompareResult
        `scores` has the ScoreResult of each variant, `kept` says how pictures are kept.

    Raises
    ------
    InputError, DeviceError
        Wrong use, unusable inputs or device.
    OutputError
        The report could not be written; nothing is left under its name.
    IncompleteError
        A video was damaged: the report is there, and `error.result` is the CompareResult.
    """
    clip = Clip(
        seconds(start, "start"),
        seconds(duration, "duration"),
        frames,
        deinterlace,
        interlaced,
        ivtc,
    )
    job = CompareJob(
        reference=the_only(path(reference, "reference"), "reference"),
        variants=tuple(the_only(one, "variants") for one in paths(variants, "variants")),
        target=path(target, "target"), metrics=chosen(metrics, films=True), pictures=pictures,
        report_size=report_size, mad=MadSettings(variant, hi_scale, eight_bit_lut, dtype),
        data_range=data_range, align=align, every=every, clip=clip, overwrite=overwrite,
        max_pixels=max_pixels, threads=threads, device=device_list(device), decoder=decoder,
        profile=profile,
    )  # fmt: skip
    return raised(run(job, events))
