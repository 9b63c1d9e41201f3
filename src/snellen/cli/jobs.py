"""Which input becomes which output, and what is said of each; what all commands for videos take."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from snellen.cli.inputs import PIPE, VIDEO, is_still, seconds
from snellen.cli.report import Report
from snellen.errors import DeviceError, IncompleteError, InputError, SnellenError
from snellen.frames import atomic
from snellen.video.clip import Clip

if TYPE_CHECKING:
    from snellen.frames.still import Still
    from snellen.video.convert import Encoding, Step, Summary

VIDEO_ONLY = (
    "codec", "preset", "crf", "encoder_option", "pix_fmt", "start", "duration", "frames",
    "deinterlace", "decoder",
)  # fmt: skip

_OPTIONS = (
    click.option(
        "--decoder",
        type=click.Choice(["auto", "cpu", "nvdec"]),
        default="auto",
        show_default=True,
        help="What decodes video; auto is the CPU, which also stands in for nvdec.",
    ),
    click.option("--codec", help="Video encoder [default: libx264, deeper than 10 bit libx265]."),
    click.option(
        "--preset",
        help="The encoder's preset [default: the encoder's medium]; p1 … p7 with nvenc.",
    ),
    click.option(
        "--crf", type=float, help="The encoder's quality, smaller is better; cq with nvenc."
    ),
    click.option(
        "-e",
        "--encoder-option",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any option of the encoder; may be repeated.",
    ),
    click.option("--pix-fmt", help="Pixel format, such as yuv420p10le [default: the input's]."),
    click.option("--start", metavar="TIME", help="Begin here, in seconds or [HH:]MM:SS."),
    click.option("--duration", metavar="TIME", help="Stop after so long."),
    click.option("--frames", type=click.IntRange(1), help="Stop after so many frames."),
    click.option("--deinterlace", is_flag=True, help="Make interlaced video progressive (bwdif)."),
    click.option(
        "--strict",
        is_flag=True,
        help="An error where something would be lost, or nvenc replaced.",
    ),
    click.option("--overwrite", is_flag=True, help="Replace existing outputs."),
    click.option("--json", "as_json", is_flag=True, help="One JSON object a line."),
)


def video_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how videos are read and written."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def jobs(inputs: tuple[Path, ...], output: Path) -> list[tuple[Path, Path]]:
    """Pair each input with its output."""
    sources = files(inputs)
    many = len(inputs) > 1 or inputs[0].is_dir()
    if output == PIPE or not (many or output.is_dir()):
        if len(sources) > 1:
            raise InputError("standard output takes one input; name a folder with -o")
        return [(sources[0], output)]
    if PIPE in sources:
        raise InputError("standard input needs a file name (or -) as its output, not a folder")
    if not output.is_dir():
        raise InputError(
            f"{output}: several inputs need an existing folder as output; make it first"
        )
    goals = [output / _renamed(source) for source in sources]
    twice = {goal for goal in goals if goals.count(goal) > 1}
    if twice:
        raise InputError(f"several inputs would become {sorted(twice)[0]}; convert them apart")
    return list(zip(sources, goals, strict=True))


def files(inputs: tuple[Path, ...]) -> list[Path]:
    """Return the inputs, folders replaced by the videos and images in them."""
    found: list[Path] = []
    for path in inputs:
        found += _contents(path) if path.is_dir() else [path]
    return found


def _contents(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and _known(path)]
    if not found:
        raise InputError(f"{folder} holds no video and no image")
    return found


def _known(path: Path) -> bool:
    return not path.name.startswith(".") and (path.suffix.lower() in VIDEO or is_still(path))


def _renamed(source: Path) -> str:
    """Return the name in the output folder; Matroska holds what cannot be written as it was."""
    from snellen.video.sink.output import MUXERS

    if is_still(source) or source.suffix.lower() in MUXERS:
        return source.name
    return source.stem + ".mkv"


def guarded(work: Callable[[], None], source: Path, report: Report, several: bool) -> int:
    """Do one job; among several, an error is told and the others go on."""
    try:
        work()
    except IncompleteError as error:
        report.failure(str(source), str(error), error.exit_code)
        return error.exit_code
    except SnellenError as error:
        if not several and not report.as_json:
            raise
        report.failure(str(source), str(error), error.exit_code)
        return error.exit_code
    return 0


def opened(
    source: Path, goal: Path, only: tuple[str, ...], options: dict[str, Any], report: Report
) -> tuple[Still, list[str]]:
    """Return an image, and what of it the output will not hold; refuse what can be refused.

    `only`: options that are for videos.
    """
    from snellen.frames.still import check, losses, read

    if goal == PIPE:
        raise InputError("an image cannot go to standard output; name a file with -o")
    atomic.check_target(goal, source, options["overwrite"])
    _warn_of(only, source, report)
    still = read(source)
    check(goal, still)
    lost = losses(goal, still)
    if lost and options["strict"]:
        raise InputError(f"{source}: this would be lost: {'; '.join(lost)}")
    for text in lost:
        report.warning(str(source), text)
    return still, lost


def clip(options: dict[str, Any]) -> Clip:
    """Return which part of a video is asked for."""
    return Clip(
        start=seconds("--start", options["start"]),
        duration=seconds("--duration", options["duration"]),
        frames=options["frames"],
        deinterlace=options["deinterlace"],
    )


def film(
    source: Path, goal: Path, step: Callable[[str], Step], options: dict[str, Any], report: Report
) -> Summary:
    """Send a video through a step, made for a device; the CPU's where auto's GPU has no room."""
    from snellen.video.convert import convert

    name = str(source)
    part, encoding = clip(options), _encoding(options)

    def work(device: str) -> Summary:
        return convert(
            sys.stdin.buffer if source == PIPE else source,
            sys.stdout.buffer if goal == PIPE else goal,
            step(device),
            clip=part,
            encoding=encoding,
            decoder=options["decoder"],
            strict=options["strict"],
            overwrite=options["overwrite"],
            on_warning=lambda text: report.warning(name, text),
            on_progress=lambda p: report.progress(name, p.frames, p.total, p.fps, p.eta),
        )

    try:
        return work(options["found"])
    except DeviceError as error:  # before anything is written; what a pipe held is gone
        if options["device"] != "auto" or options["found"] == "cpu" or source == PIPE:
            raise
        report.warning(name, f"the CPU is used: {error}")
        return work("cpu")


def tell(
    source: Path, goal: Path, summary: Summary, report: Report, also: str = "", **facts: Any
) -> None:
    """Tell what became of a video; what the input lacked is an error."""
    report.result(
        f"{goal}: {summary.frames} frames, {summary.source} → {summary.result} "
        f"({summary.encoder}, {summary.pixel_format}), {summary.seconds:.1f} s on {summary.device}"
        + also,
        input=str(source), output=str(goal), **asdict(summary), **facts,
    )  # fmt: skip
    if summary.lost:
        raise IncompleteError(
            f"{source} is damaged: {'; '.join(summary.lost)}; what could be decoded is in {goal}"
        )


def _encoding(options: dict[str, Any]) -> Encoding:
    from snellen.video.convert import Encoding

    return Encoding(
        codec=options["codec"], preset=options["preset"], crf=options["crf"],
        options=_pairs(options["encoder_option"]), pix_fmt=options["pix_fmt"],
    )  # fmt: skip


def _pairs(options: tuple[str, ...]) -> dict[str, str]:
    for option in options:
        if "=" not in option:
            raise InputError(f"-e {option}: expected KEY=VALUE, such as -e tune=film")
    return dict(option.split("=", 1) for option in options)


def _warn_of(names: tuple[str, ...], source: Path, report: Report) -> None:
    """Tell which of the options of videos came with an image."""
    asked = click.get_current_context().get_parameter_source
    for name in names:
        if asked(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            report.warning(str(source), f"--{option} is for video: without effect on an image")
