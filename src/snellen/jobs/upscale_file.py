"""snellen.upscale_file and upscale_files, which do from Python what the command does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from snellen.frames.values import flag
from snellen.jobs.arguments import SIZE, arguments, upscale_job
from snellen.jobs.events import Events
from snellen.jobs.execute import raised
from snellen.jobs.naming import enlarged
from snellen.jobs.options import (
    File,
    Time,
    optional_path,
    paths,
)
from snellen.jobs.planning import plan
from snellen.jobs.report_after import with_report
from snellen.jobs.several import each_file
from snellen.jobs.sizes import wanted
from snellen.jobs.upscale import UpscaleJob, UpscaleResult
from snellen.process import while_running
from snellen.upscaling.shipped import Method, SourceKind


@while_running
def upscale_file(
    source: File,
    target: File | None = None,
    scale: float | None = None,
    model: File | None = None,
    device: str | Sequence[str] = "auto",
    *,
    method: Method | None = None,
    source_kind: SourceKind | None = None,
    size: str | tuple[int, int] | None = None,
    height: int | None = None,
    fit: str | None = None,
    chroma: str = "auto",
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
    crop: str | None = None,
    vf: str | None = None,
    deblock: bool = False,
    denoise: str | None = None,
    sharpen: float | None = None,
    deband: bool = False,
    post_vf: str | None = None,
    deblur: Any = None,
    deblur_psf_out: File | None = None,
    lut: File | None = None,
    lut_matrix: str | None = None,
    grain: float | None = None,
    grain_seed: int | None = None,
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
    scale : number, optional
        Magnification: 2, 3, 4, or any number above 1 up to 16. For others than the first three, the
        smallest of these that reaches it, or two in a row, enlarges, and a filter makes the result
        as small as it is to be. None: 2, unless there is a `size` or a `height`.
    model : str, Path or None
        A shipped model's name or a .safetensors file; None: ours for this scale. A `size`,
        `height` or `scale` of another magnification is made by it, too, or by it twice.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N", or "auto": the first GPU where it works. Where the memory
        of "auto"'s GPU does not suffice, the CPU does the work, with a warning. Several GPUs
        ("cuda:all", "cuda:0,cuda:2", "cuda:0,2") share the segments of a long film, and the
        files of `upscale_files`; all else is the first one's.
    method : str, optional
        What enlarges luma: "cnn-fine", "cnn-fast", "aplus"; None or "auto": cnn-fine. Instead of a
        `model`.
    source_kind : str, optional
        What kind of pictures the method's model is for: "clean"; "film", coded ones; "soft", coded
        and blurred ones; "auto", which is also the default: clean of an image, with a
        notice if it looks coded, and of a video what its codec, bits, sharpness and traces of
        coding say. Instead of a `model`, too.
    size : str or (int, int), optional
        In place of `scale` the size: (3840, 2160), "3840x2160", "8k", "4k", "2160p", "1440p",
        "1080p" or "720p". The result is the largest picture inside it, with square pixels.
    height : int, optional
        In place of `scale` the rows of the result; the width follows.
    fit : str, optional
        What becomes of a picture of another shape than `size`: "pad" with black, "crop" what is
        beyond it, or "stretch" it. The result then has exactly this size.
    chroma : str
        Where a video's chroma is enlarged if a GPU enlarges luma: "auto", "cpu" or "gpu".
    start, duration : number, Fraction, str, optional
        Part of a video in seconds, or as [HH:]MM:SS; None: from its beginning, to its end.
    frames : int, optional
        At most so many frames of a video.
    deinterlace : bool or str
        "frame" or True: interlaced video is made progressive (bwdif); "field": and each field a
        frame, at twice the rate. False: it is refused.
    interlaced : str
        "auto": frames marked as interlaced are, unless the content of several places of the film
        says that they are not; "ignore": none is; "top", "bottom": all are, this field first.
    ivtc : bool
        Whether telecined film (24 frames a second as 30 interlaced ones) is restored.
    decoder : str
        "auto" or "cpu": FFmpeg's decoders; "nvdec": NVIDIA's, experimental.
    codec : str, optional
        FFmpeg's name of an encoder; h264, hevc, av1, vp9, vp8 and prores stand for libx264,
        libx265, libsvtav1, libvpx-vp9, libvpx and prores_ks. None: libx264, above 8 bit or of HDR
        libx265, of AV1 and VP9 libsvtav1, of transparent films in .webm libvpx-vp9 and, above 8
        bit, ffv1 in .mkv and prores_ks in .mov, which keep the alpha channel of others, too.
    preset : str, optional
        The encoder's preset.
    crf : float, optional
        The encoder's quality, smaller is better; None: nearly without visible loss.
    target_mad, target_vmaf : float, optional
        In place of `crf`: the MAD (0 is identical) or VMAF (100 is best) of the film against the
        frames that its encoder gets. Probes on excerpts choose the crf, and the finished film is
        scored: `result.summary.reached`. VMAF needs Python 3.12 or later.
    target_pool : str, optional
        How scores of frames become one: "mean", also by default; of MAD "rms" (root mean square) or
        "p95" (95th percentile), of VMAF "harmonic" (mean) or "p5" (5th percentile).
    max_bitrate : int or str, optional
        Most bits a second of the video, as 20_000_000, "20M" or "800k", over a buffer of one second
        (of VP9 on average). It wins over a target.
    encoder_options : mapping of str to str, optional
        Further options of the encoder, by FFmpeg's names.
    pix_fmt : str, optional
        FFmpeg's pixel format; None: the input's, or the encoder's that loses least.
    colour : str
        What the output states of its colours: "auto": as the input, and where an untagged one
        becomes so large that players would take it for BT.709, what they take the input for;
        "keep": as the input; "bt709", "bt601-625", "bt601-525" or "bt2020": that.
    audio : str
        "copy": a video's audio is copied as it is; "aac", "opus": what is not so yet is encoded;
        "none": it is left out.
    map : str or sequence of str, optional
        Streams of a video that are kept, as FFmpeg's -map has them: "0:a:1", "0:s?", "-0:d"; the
        first video among them is worked on. None: all.
    fps : number or str, optional
        Pictures a second: the source is a folder or a pattern of pictures ("frames/%05d.png"),
        which become one film. Frames a second of a film that states no rate.
    crop : str, optional
        The part of each picture of a video that is worked on, "W:H:X:Y" in pixels: width, height
        and the distances from the left and the top; before rotation, if the video states one.
        "auto": what is inside black bars.
    vf, post_vf : str, optional
        Chains of FFmpeg's filters for a video's frames before and after they are enlarged, such as
        "bilateral,hue=s=0", also those that change the size, the rate or the number of frames.
    deblock : bool
        Whether the edges of blocks in a video are smoothed, which coarse coding leaves.
    denoise : str, optional
        Against noise of a video: "light", "medium" or "strong".
    sharpen : float, optional
        How much a video's luma is sharpened after enlarging, above 0, up to 1.
    deband : bool
        Whether bands in smooth gradients of a video are removed after enlarging.
    deblur : str, Path or array, optional
        The blur that all frames of a video have, which MIA undoes before they are enlarged: a PSF
        in a file (.npy, or a grey image), an array (K, K), or "auto", which estimates it on some
        sharp frames of a file and leaves a sharp film as it is.
    deblur_psf_out : str or Path, optional
        File for the PSF that "auto" finds, .npy or .png.
    lut : str or Path, optional
        A .cube file, a table of colours that the enlarged frames of a video go through.
    lut_matrix : str, optional
        The colour matrix of the video for it: "bt709", "bt601" or "bt2020"; None or "auto": what
        the video states, or a guess by its size, which is said.
    grain : float, optional
        Standard deviation of the film grain that is added to a video's luma at the end, in code
        values of 8 bits, in the middle tones; above 0, up to 64.
    grain_seed : int, optional
        Another seed, 0 … 2³² − 1, gives other grain; None: 0.
    quality : int, optional
        Of an image that is written as JPEG, WebP or AVIF, 1 … 100; None: 95, without loss, 90.
    strict : bool
        Whether anything that cannot be carried over is an error, before work starts.
    overwrite : bool
        Whether a file called `target` is replaced.
    max_pixels : int, optional
        Most pixels of a picture that is read, or of a frame; None: by the memory of the machine.
    threads : int, optional
        CPU threads; None: one for each core of this process.
    profile : bool
        Whether the result has the time of each stage.
    segments : bool
        Whether a film of more than a minute, or of more work than half a minute, is made in
        segments beside the target (.mp4, .mov, .m4v, .mkv), in the folder film-4k.mkv.segments:
        after a kill the same call goes on with those that are finished. False: in one piece.
    keep_segments : bool
        Whether they stay when the film is complete.
    discard_segments : bool
        Whether those of an earlier run are removed first.
    workers : int, optional
        Processes that work on the segments of a long film, or on several files, at once; they share
        the CPU's threads, and the GPUs that `device` names. The result is the same for any number.
        None: one, or one for each GPU.
    cluster : str, optional
        The cluster of Ray whose tasks make the segments, or files, instead: "auto", "HOST:PORT",
        "ray://HOST:PORT", or "local", one of this machine that is started for this call. Needs
        the extra `snellen[cluster]`.
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
    job = upscale_job(locals())
    return raised(with_report(job, report, report_size, events))


@while_running
def upscale_files(
    sources: File | Sequence[File],
    target: File | None = None,
    *,
    recursive: bool = False,
    skip_existing: bool = False,
    events: Events | None = None,
    **options: Any,
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
    sized = wanted(*(options.get(name) for name in SIZE))
    todo = plan(
        paths(sources, "source"), optional_path(target, "target"),
        lambda one: enlarged(one, sized), into=True, recursive=recursive,
        skip_existing=skip_existing, overwrite=flag("overwrite", options.get("overwrite", False)),
        sequences=options.get("fps") is not None,
    )  # fmt: skip

    def job(*files: Any, **how: Any) -> UpscaleJob:
        return upscale_job(arguments(upscale_file, *files, **how))

    return each_file(upscale_file, job, todo, events, options)
