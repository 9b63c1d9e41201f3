"""What commands share: types of arguments, options of videos, and parameters' names as options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.groups import (
    ENCODING,
    FILES,
    IMAGES,
    MACHINE,
    REPORT,
    VIDEO,
    group,
    optional_choice,
)
from snellen.cli.types import NUMBER, OUTPUT, WRITTEN, Whole
from snellen.errors import InputError, worded
from snellen.video.sink.registry import DEFAULT, defaults, encoder_of

if TYPE_CHECKING:
    from snellen.jobs.options import VideoOptions


_OPTIONS = {
    "source": "INPUT", "reference": "REF", "distorted": "DIST", "target": "-o",
    "region": "--roi", "positions": "--roi-file", "table": "--csv", "maps": "--map-out",
    "encoder_options": "--encoder-option", "notes": "--about", "source_kind": "--source",
    "variants": "FILES",
    "segments": "--no-segments",
}  # fmt: skip
"""Options whose name is not that of the parameter."""
_PYTHON = frozenset(
    {"batch", "bits", "blind", "callback", "channel_axis", "deblurrer", "events", "format", "frame",
     "history", "job", "jobs", "multiframe", "on_device", "packed", "policy", "position", "prepare",
     "queue", "radius", "recentre", "shape", "siting", "strength", "subsampling", "white"}
)  # fmt: skip
"""Parameters that commands do not have."""


def option(parameter: str) -> str:
    """Return the option of a parameter, "--psf-size" for "psf_size"; itself where there is none."""
    if parameter in _PYTHON:
        return parameter
    return _OPTIONS.get(parameter, "--" + parameter.replace("_", "-"))


def in_options(warnings: Iterable[str]) -> list[str]:
    """Return warnings as the command words them: with options for parameters."""
    return [worded(one, option) for one in warnings]


DECODER = click.option(
    "--decoder",
    type=click.Choice(["auto", "cpu", "nvdec"]),
    default="auto",
    show_default=True,
    help="What decodes video; auto is the CPU. nvdec, experimental (never yet run on hardware), "
    "falls back to the CPU.",
)
DEVICE = click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="auto|cpu|cuda:N|cuda:all|…",
    help="auto: the first GPU that works, else the CPU; cuda:all: every GPU; cuda:0,cuda:1 or "
    "cuda:0,1: these.",
)
MAX_PIXELS = click.option(
    "--max-pixels",
    type=Whole(1),
    metavar="N",
    help="Refuse pictures and videos of more pixels [default: by the memory of this machine].",
)
PROFILE = click.option("--profile", is_flag=True, help="Time each stage; the table goes to stderr.")
OVERWRITE = click.option("-y", "--overwrite", is_flag=True, help="Replace existing outputs.")
START = click.option("--start", metavar="TIME", help="Begin here, in seconds or [HH:]MM:SS.")
DURATION = click.option("--duration", metavar="TIME", help="Stop after so long.")
FRAMES = click.option("--frames", type=Whole(1), metavar="N", help="Stop after so many frames.")
MAP = click.option(
    "--map",
    multiple=True,
    metavar="0:a:1",
    help="Streams to keep, as for FFmpeg: 0:a:1, 0:s?, 0:a:m:language:eng, -0:d; the first video "
    "among them is worked on; may be repeated [default: all].",
)
FPS = click.option(
    "--fps",
    metavar="RATE",
    help="Make one film of the pictures of INPUT, a folder or a pattern as frames/%05d.png: so "
    "many a second, as 25 or 24000/1001. Or the rate of a film that states none "
    "(y4m of F0:0, SER).",
)
FIELDS = (
    optional_choice(
        "--deinterlace",
        ("frame", "field"),
        "Make interlaced video progressive (bwdif): frame by frame; field: at twice the rate.",
    ),
    click.option(
        "--interlaced",
        type=click.Choice(["auto", "ignore", "top", "bottom"]),
        default="auto",
        show_default=True,
        help="Which frames are interlaced; auto: those marked, if their content agrees, and with "
        "--deinterlace by content alone; ignore: none; top, bottom: all, this field first.",
    ),
    click.option("--ivtc", is_flag=True, help="Take film out of telecined video, 24 of 30 frames."),
)

CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on a cluster of Ray (snellen[cluster]): auto, HOST:PORT, ray://HOST:PORT; local: "
    "one of this machine.",
)
SEGMENTS = (
    click.option(
        "--no-segments",
        is_flag=True,
        help="Make a long film in one piece, not in segments with which the same command goes on "
        "after a kill.",
    ),
    click.option(
        "--keep-segments", is_flag=True, help="Leave them there when the film is complete."
    ),
    click.option("--discard-segments", is_flag=True, help="Remove those of an earlier run first."),
    click.option(
        "--workers",
        type=Whole(1, 1024),
        metavar="N",
        help="Processes that share several files, and the segments of a long film, with the same "
        "results [default: 1; of several GPUs one each].",
    ),
    CLUSTER,
)
THREADS = click.option(
    "--threads",
    type=Whole(1, 1024),
    metavar="N",
    help="CPU threads, those of decoder and encoder too [default: one for each core].",
)
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
VERBOSE = click.option(
    "-v", "--verbose", is_flag=True, help="Say what each input becomes, and by which settings."
)
QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Say warnings, errors and answers (scores, a dry run) only, without a bar.",
)
LOG = click.option(
    "--log", type=WRITTEN, metavar="FILE", help="Append all that is said to this file, with times."
)
REPORTING = (VERBOSE, QUIET, LOG, JSON, PROFILE)

_SHARED = (
    group(
        FILES,
        click.option(
            "-r",
            "--recursive",
            is_flag=True,
            help="Search the folders in a folder, too; not links to folders, nor what is hidden.",
        ),
        click.option(
            "--skip-existing",
            is_flag=True,
            help="Leave inputs out whose outputs are there, those of damaged ones too.",
        ),
        OVERWRITE,
        click.option(
            "--dry-run",
            is_flag=True,
            help="Do all but the work, and say what it would be: streams, encoder, segments, and "
            "time and size by some frames; nothing is written.",
        ),
        click.option(
            "--strict",
            is_flag=True,
            help="An error where something would be lost, or nvenc replaced.",
        ),
    ),
    group(VIDEO, START, DURATION, FRAMES, FPS, MAP, *FIELDS, DECODER),
    group(
        ENCODING,
        click.option(
            "--codec",
            metavar="NAME",
            help=f"Video encoder, as {encoder_of('h264')}, or codec, as h264 [default: {DEFAULT}]; "
            "those of NVENC and QSV are experimental (never yet run on hardware).",
        ),
        click.option(
            "--preset",
            metavar="NAME",
            help=f"The encoder's preset [default: {defaults(lambda one: one.preset)}]; p1 … p7 "
            "with nvenc.",
        ),
        click.option(
            "--crf",
            type=NUMBER,
            metavar="N",
            help="The encoder's quality, smaller is better; cq with nvenc [default: "
            f"{defaults(lambda one: one.crf)}].",
        ),
        click.option(
            "--target-mad",
            type=NUMBER,
            metavar="X",
            help="Instead of --crf: the crf that gives the film this MAD (0 is identical) against "
            "the frames that the encoder gets; probes on excerpts find it.",
        ),
        click.option(
            "--target-vmaf",
            type=NUMBER,
            metavar="X",
            help="Likewise, this VMAF (100 is best); Python 3.12 or later.",
        ),
        click.option(
            "--target-pool",
            type=click.Choice(["mean", "rms", "p95", "harmonic", "p5"]),
            metavar="NAME",
            help="How scores of frames become one: mean; of MAD also rms (root mean square) or p95 "
            "(95th percentile), of VMAF harmonic (mean) or p5 (5th percentile) [default: mean].",
        ),
        click.option(
            "--max-bitrate",
            metavar="RATE",
            help="Most bits a second of the video, as 20M or 800k, over a buffer of one second; it "
            "wins over a target.",
        ),
        click.option(
            "--pix-fmt",
            metavar="NAME",
            help="Pixel format of the output, as yuv420p10le [default: the input's].",
        ),
        click.option(
            "--colour",
            type=click.Choice(["auto", "keep", "bt709", "bt601-625", "bt601-525", "bt2020"]),
            metavar="NAME",
            default="auto",
            show_default=True,
            help="What the output states: keep: as the input; bt709, bt601-625, bt601-525 or "
            "bt2020; auto: as the input, but what players assume of an untagged one where "
            "they would take the larger picture for BT.709.",
        ),
        click.option(
            "--audio",
            type=click.Choice(["copy", "aac", "opus", "none"]),
            default="copy",
            show_default=True,
            help="Copy audio as it is, make AAC or Opus of what is not so yet, or leave it out.",
        ),
        click.option(
            "-e",
            "--encoder-option",
            multiple=True,
            metavar="KEY=VALUE",
            help="Any option of the encoder; may be repeated.",
        ),
    ),
    group(
        IMAGES,
        click.option(
            "--quality",
            type=Whole(1, 100),
            metavar="N",
            help="Of images and animated WebP [default: JPEG 95, AVIF 90, WebP without loss, "
            "animated 90].",
        ),
    ),
    group(MACHINE, DEVICE, THREADS, MAX_PIXELS),
    group(REPORT, *REPORTING),
)


def video_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that all commands from files to files have."""
    for one in reversed(_SHARED):
        command = one(command)
    return command


def output_option(example: str) -> Callable[[Any], Any]:
    """Return -o, with what an input's result is called without it."""
    return click.option(
        "-o",
        "--output",
        metavar="FILE|FOLDER",
        type=OUTPUT,
        help="File; or a folder, for several inputs or a folder, made where it is missing; either "
        "may be at s3:// or gs://; - for y4m; film-%05d.png makes a picture of each frame "
        f"[default: beside the input, as {example}].",
    )


def video(options: dict[str, Any]) -> VideoOptions:
    """Take the options of videos out of a command's options, and return them as a value."""
    from snellen.jobs.options import video_options

    further = key_values("-e", options.pop("encoder_option"), "tune=film")
    names = ("start", "duration", "frames", "deinterlace", "interlaced", "ivtc", "decoder",
             "codec", "preset", "crf", "pix_fmt", "colour", "audio",
             "map", "fps", "target_mad", "target_vmaf", "target_pool", "max_bitrate")  # fmt: skip
    chosen = {name: options.pop(name) for name in names}
    chosen["deinterlace"] = chosen["deinterlace"] or False
    return video_options(**chosen, encoder_options=further)


def key_values(name: str, texts: tuple[str, ...], example: str) -> dict[str, str]:
    """Return what options KEY=VALUE say (InputError: one has no key, or no =)."""
    for text in texts:
        if not text.partition("=")[1]:
            raise InputError(f"{name} {text}: expected KEY=VALUE, such as {name} {example}")
    return dict(text.split("=", 1) for text in texts)
