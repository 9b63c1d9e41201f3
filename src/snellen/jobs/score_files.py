"""snellen.score_files, which does from Python what the command does."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.jobs.events import Events
from snellen.jobs.execute import raised
from snellen.jobs.options import File, MadSettings, Time, device_list, optional_path, path, seconds
from snellen.jobs.patterns import the_only
from snellen.jobs.report_after import with_report
from snellen.jobs.score import ScoreJob, ScoreResult
from snellen.metrics.registry import chosen
from snellen.process import while_running
from snellen.video.clip import Clip


@while_running
def score_files(
    reference: File,
    distorted: File,
    *,
    metrics: str | Sequence[str] = "mad",
    variant: str = "2011",
    hi_scale: float = 200.0,
    eight_bit_lut: bool = False,
    data_range: float | None = None,
    resize: bool = False,
    offset: int = 0,
    align: bool = False,
    every: int = 1,
    frames: int | None = None,
    start: Time | None = None,
    duration: Time | None = None,
    deinterlace: bool | str = False,
    interlaced: str = "auto",
    ivtc: bool = False,
    temporal: bool = False,
    table: File | None = None,
    maps: File | None = None,
    worst: int = 1,
    overwrite: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    device: str | Sequence[str] = "auto",
    dtype: str | None = None,
    decoder: str = "auto",
    workers: int | None = None,
    cluster: str | None = None,
    profile: bool = False,
    report: File | None = None,
    report_size: float = 30.0,
    events: Events | None = None,
) -> ScoreResult:
    """Score how far a video, an image or a folder of images is from its reference by MAD.

    0 is no visible difference, higher is worse. Only luma counts, at the depth that it has. Videos
    meet frame by frame, by number; images of two folders meet by name without the suffix.

    Parameters
    ----------
    reference, distorted : str or Path
        Two videos (one may be "-": y4m on standard input), two images, or two folders of images.
    metrics : str or sequence of str
        "mad,psnr,ssim", or some of these, as for `snellen.score`; beside or without them, of
        videos, "vmaf": where FFmpeg has the filter libvmaf, as in PyAV 19 (Python 3.12 or later).
    variant : str
        "2011", as the authors' code of that year, or "paper", as their article.
    hi_scale : float
        Factor of HI, above 0: 200 (2011), 10 (ST-MAD) or 1 (April 2010).
    eight_bit_lut : bool
        Whether white is what the authors' table for 8 bits has.
    data_range : float, optional
        The sample value of white of float images; None: 1, and samples far beyond it are refused.
        That of others goes by their bits.
    resize : bool
        Whether `distorted` is scaled to the size of `reference` (Lanczos); else a difference of
        size is an error.
    offset : int
        Frames by which a distorted video lags behind; negative: by which it is ahead.
    align : bool
        Whether the offset is found from what both videos show, up to 300 frames either way;
        `ScoreResult.offset` is what was found. Where it cannot be told a warning says so.
    every : int
        The first frame that has a partner is scored, then every so many; of folders, of the images.
    frames : int, optional
        At most so many frames, or pairs of images.
    start, duration : number, Fraction, str, optional
        Part of the reference video in seconds, or as [HH:]MM:SS.
    deinterlace, interlaced, ivtc
        What becomes of interlaced video, of both: as for `upscale_file`.
    temporal : bool
        Whether ST-MAD is computed too: for 34 frames or more, which are all kept in memory.
    table : str or Path, optional
        CSV file to write, with a row for each frame.
    maps : str or Path, optional
        Folder to write heat maps of the worst frames to, as PNG with an index in JSON.
    worst : int
        So many frames of the highest MAD get maps.
    overwrite : bool
        Whether existing outputs are replaced.
    max_pixels : int, optional
        Most pixels of a picture that is read, or of a frame; None: by the memory of the machine.
    threads : int, optional
        CPU threads; None: one for each core of this process.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N", "auto", or several GPUs, "cuda:0,cuda:1", ["cuda:0", "cuda:1"] or
        "cuda:all". This process has them share the frames of two videos, and of two images the
        work; the pairs of two folders are shared by a worker for each.
    dtype : str, optional
        "float32" or "float64"; None: float64 on the CPU, and on a GPU for small pictures.
    decoder : str
        "auto" or "cpu": FFmpeg's decoders; "nvdec": NVIDIA's, experimental.
    workers : int, optional
        Processes that share the pairs of two folders, or the frames of two videos; None: one, or
        of folders one for each of several GPUs. Two images have one. Results are those of one
        process; a worker that fails gives its part back, with a warning. Each decodes both videos
        up to the end of its part, so that workers help where scoring takes longer than decoding.
        One process scores what cannot be shared, and a notice says why: standard input,
        `temporal`, `frames` together with `start`, and videos of an unknown number of frames.
    cluster : str, optional
        The cluster of Ray whose tasks score these instead, as of `upscale_file`. All nodes see the
        files under the same names.
    profile : bool
        Whether the result has the time of each stage; not with several workers.
    report : str, Path or None
        A report to look at, .html, as of `compare_files`: what was scored; None: none.
    report_size : float
        Most million bytes of the report.
    events : Events, optional
        Receives progress, warnings and each score.

    Returns
    -------
    ScoreResult
        `table.rows` are the scores, `table.pooled()` their statistics.

    Raises
    ------
    InputError, DeviceError
        Wrong use, unusable inputs or device. Of videos too short for ST-MAD the scores are there:
        `error.result` is the ScoreResult.
    OutputError
        Table or maps could not be written; `error.result` is the ScoreResult, or None where that
        was known before the work.
    IncompleteError
        A video was damaged: what could be decoded was scored, and `error.result` is the
        ScoreResult.
    """
    clip = Clip(
        seconds(start, "start"),
        seconds(duration, "duration"),
        frames,
        deinterlace,
        interlaced,
        ivtc,
    )
    job = ScoreJob(
        reference=the_only(path(reference, "reference"), "reference"),
        distorted=the_only(path(distorted, "distorted"), "distorted"),
        mad=MadSettings(variant, hi_scale, eight_bit_lut, dtype),
        metrics=chosen(metrics, films=True),
        data_range=data_range, resize=resize, offset=offset, align=align,
        every=every, clip=clip, temporal=temporal, table=optional_path(table, "table"),
        maps=optional_path(maps, "maps"), worst=worst, overwrite=overwrite,
        max_pixels=max_pixels, threads=threads,
        device=device_list(device), decoder=decoder, workers=workers, cluster=cluster,
        profile=profile,
    )  # fmt: skip
    return raised(with_report(job, report, report_size, events))
