"""snellen upscale: videos, images, folders of both, y4m from and to pipes."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from snellen.cli.inputs import NAMED, PIPE, chosen_device, is_still
from snellen.cli.jobs import VIDEO_ONLY, film, guarded, jobs, opened, tell, video_options
from snellen.cli.report import Report
from snellen.errors import DeviceError, SnellenError


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
@video_options
def upscale(inputs: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Enlarge INPUT… (videos, images, folders, - for y4m) by A+ super-resolution."""
    with Report(options["as_json"], output == PIPE) as report:
        try:
            pairs = jobs(inputs, output)
            options["found"] = chosen_device(options["device"], report)
        except SnellenError as error:
            if not report.as_json:
                raise
            report.failure(" ".join(map(str, inputs)), str(error), error.exit_code)
            sys.exit(error.exit_code)
        codes = []
        for source, goal in pairs:
            work = partial(_still if is_still(source) else _video, source, goal, options, report)
            codes.append(guarded(work, source, report, len(pairs) > 1))
    sys.exit(max(codes))


def _still(source: Path, goal: Path, options: dict[str, Any], report: Report) -> None:
    from snellen.frames.still import write
    from snellen.gpu import device

    still, lost = opened(source, goal, (*VIDEO_ONLY, "chroma"), options, report)
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

    def step(device: str) -> Upscaler:
        return Upscaler(options["scale"], options["model"], device, options["chroma"])

    tell(source, goal, film(source, goal, step, options, report), report)
