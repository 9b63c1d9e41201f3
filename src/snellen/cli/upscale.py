"""snellen upscale: videos, images, folders of both, y4m from and to pipes."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from snellen import target
from snellen.cli.inputs import NAMED, PIPE, VIDEO, chosen_device, is_still, seconds
from snellen.cli.report import Report
from snellen.errors import DeviceError, IncompleteError, InputError, SnellenError

VIDEO_ONLY = (
    "codec", "preset", "crf", "encoder_option", "pix_fmt", "start", "duration", "frames",
    "deinterlace", "decoder", "chroma",
)  # fmt: skip


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=NAMED)
@click.option(
    "-o",
    "--output",
    required=True,
    type=NAMED,
    help="File; or an existing folder for several inputs or a folder; - for y4m.",
)
@click.option(
    "--scale", type=click.IntRange(2, 4), default=2, show_default=True, help="Magnification."
)
@click.option("--model", help="A shipped model's name or a .safetensors file.")
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|cuda|cuda:N")
@click.option(
    "--chroma",
    type=click.Choice(["auto", "cpu", "gpu"]),
    default="auto",
    show_default=True,
    help="Where video's chroma is enlarged.",
)
@click.option(
    "--decoder",
    type=click.Choice(["auto", "cpu", "nvdec"]),
    default="auto",
    show_default=True,
    help="What decodes video; auto is the CPU, which also stands in for nvdec.",
)
@click.option("--codec", help="Video encoder [default: libx264, deeper than 10 bit libx265].")
@click.option(
    "--preset", help="The encoder's preset [default: the encoder's medium]; p1 … p7 with nvenc."
)
@click.option("--crf", type=float, help="The encoder's quality, smaller is better; cq with nvenc.")
@click.option(
    "-e",
    "--encoder-option",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any option of the encoder; may be repeated.",
)
@click.option("--pix-fmt", help="Pixel format, such as yuv420p10le [default: the input's].")
@click.option("--start", metavar="TIME", help="Begin here, in seconds or [HH:]MM:SS.")
@click.option("--duration", metavar="TIME", help="Stop after so long.")
@click.option("--frames", type=click.IntRange(1), help="Stop after so many frames.")
@click.option("--deinterlace", is_flag=True, help="Make interlaced video progressive (bwdif).")
@click.option(
    "--strict", is_flag=True, help="An error where something would be lost, or nvenc replaced."
)
@click.option("--overwrite", is_flag=True, help="Replace existing outputs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def upscale(inputs: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Enlarge INPUT… (videos, images, folders, - for y4m) by A+ super-resolution."""
    with Report(options["as_json"], output == PIPE) as report:
        try:
            jobs = _jobs(inputs, output)
            options["found"] = chosen_device(options["device"], report)
        except SnellenError as error:
            if not report.as_json:
                raise
            report.failure(" ".join(map(str, inputs)), str(error), error.exit_code)
            sys.exit(error.exit_code)
        codes = [_guarded(source, goal, options, report, len(jobs) > 1) for source, goal in jobs]
    sys.exit(max(codes))


def _jobs(inputs: tuple[Path, ...], output: Path) -> list[tuple[Path, Path]]:
    """Pair each input with its output."""
    sources: list[Path] = []
    for path in inputs:
        sources += _contents(path) if path.is_dir() else [path]
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


def _contents(folder: Path) -> list[Path]:
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and _known(path)]
    if not files:
        raise InputError(f"{folder} holds no video and no image")
    return files


def _known(path: Path) -> bool:
    return not path.name.startswith(".") and (path.suffix.lower() in VIDEO or is_still(path))


def _renamed(source: Path) -> str:
    """Return the name in the output folder; Matroska holds what cannot be written as it was."""
    from snellen.video.place import MUXERS

    if is_still(source) or source.suffix.lower() in MUXERS:
        return source.name
    return source.stem + ".mkv"


def _guarded(
    source: Path, goal: Path, options: dict[str, Any], report: Report, several: bool
) -> int:
    """Do one job; among several, an error is told and the others go on."""
    try:
        (_still if is_still(source) else _video)(source, goal, options, report)
    except IncompleteError as error:
        report.failure(str(source), str(error), error.exit_code)
        return error.exit_code
    except SnellenError as error:
        if not several and not report.as_json:
            raise
        report.failure(str(source), str(error), error.exit_code)
        return error.exit_code
    return 0


def _still(source: Path, goal: Path, options: dict[str, Any], report: Report) -> None:
    from snellen import device
    from snellen.still import check, losses, read, write

    if goal == PIPE:
        raise InputError("an image cannot go to standard output; name a file with -o")
    target.check(goal, source, options["overwrite"])
    asked = click.get_current_context().get_parameter_source
    for name in VIDEO_ONLY:
        if asked(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            report.warning(str(source), f"--{option} is for video: without effect on an image")
    still = read(source)
    check(goal, still)
    lost = losses(goal, still)
    if lost and options["strict"]:
        raise InputError(f"{source}: this would be lost: {'; '.join(lost)}")
    for text in lost:
        report.warning(str(source), text)
    pixels, used = _enlarged(still.pixels, str(source), options, report)
    write(goal, replace(still, pixels=pixels), options["overwrite"])
    height, width = pixels.shape[:2]
    told = device.name(used)
    report.result(
        f"{goal}: {width}×{height}" + ("" if used == "cpu" else f" on {told}"),
        input=str(source), output=str(goal), width=width, height=height, device=told,
        warnings=lost,
    )  # fmt: skip


def _enlarged(pixels: Any, source: str, options: dict[str, Any], report: Report) -> tuple[Any, str]:
    """Return the large picture and what made it: the CPU where auto's GPU has no room."""
    from snellen.aplus.image import upscale as enlarge

    given = (pixels, options["scale"], options["model"])
    try:
        return enlarge(*given, options["found"]), options["found"]
    except DeviceError as error:
        if options["device"] != "auto" or options["found"] == "cpu":
            raise
        report.warning(source, f"the CPU is used: {error}")
        return enlarge(*given, "cpu"), "cpu"


def _video(source: Path, goal: Path, options: dict[str, Any], report: Report) -> None:
    from snellen.aplus.upscaler import Upscaler
    from snellen.video.pipeline import Clip, Encoding, convert

    name = str(source)
    clip = Clip(
        start=seconds("--start", options["start"]),
        duration=seconds("--duration", options["duration"]),
        frames=options["frames"],
        deinterlace=options["deinterlace"],
    )
    encoding = Encoding(
        codec=options["codec"], preset=options["preset"], crf=options["crf"],
        options=_pairs(options["encoder_option"]), pix_fmt=options["pix_fmt"],
    )  # fmt: skip

    def work(device: str) -> Any:
        with Upscaler(options["scale"], options["model"], device, options["chroma"]) as step:
            return convert(
                sys.stdin.buffer if source == PIPE else source,
                sys.stdout.buffer if goal == PIPE else goal,
                step,
                clip=clip,
                encoding=encoding,
                decoder=options["decoder"],
                strict=options["strict"],
                overwrite=options["overwrite"],
                on_warning=lambda text: report.warning(name, text),
                on_progress=lambda p: report.progress(name, p.frames, p.total, p.fps, p.eta),
            )

    try:
        summary = work(options["found"])
    except DeviceError as error:  # before anything is written; what a pipe held is gone
        if options["device"] != "auto" or options["found"] == "cpu" or source == PIPE:
            raise
        report.warning(name, f"the CPU is used: {error}")
        summary = work("cpu")
    _tell(source, goal, summary, report)


def _tell(source: Path, goal: Path, summary: Any, report: Report) -> None:
    report.result(
        f"{goal}: {summary.frames} frames, {summary.source} → {summary.result} "
        f"({summary.encoder}, {summary.pixel_format}), {summary.seconds:.1f} s on {summary.device}",
        input=str(source), output=str(goal), **asdict(summary),
    )  # fmt: skip
    if summary.lost:
        raise IncompleteError(
            f"{source} is damaged: {'; '.join(summary.lost)}; what could be decoded is in {goal}"
        )


def _pairs(options: tuple[str, ...]) -> dict[str, str]:
    for option in options:
        if "=" not in option:
            raise InputError(f"-e {option}: expected KEY=VALUE, such as -e tune=film")
    return dict(option.split("=", 1) for option in options)
