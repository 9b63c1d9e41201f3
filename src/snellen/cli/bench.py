"""snellen bench: each result is checked, then timed; JSON or text."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from snellen.cli import terminal
from snellen.cli.groups import FILES, MACHINE, NAMED, REPORT, WRITTEN, Command, Whole, group
from snellen.cli.options import OVERWRITE
from snellen.errors import SnellenError
from snellen.files import atomic

MEASURED = "What is measured"
LARGER = {"calls": "bench.calls.run", "scale": "bench.scale", "fft": "bench.fft"}
"""Modules of snellen-lab that measure more, or less, than a method."""
_DEVICE = click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="DEVICE",
    help="auto, cpu, cuda or cuda:N.",
)
_DEVICES = click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="DEVICE",
    help="auto or cuda (all GPUs), cpu, cuda:N, or several: cuda:0,2.",
)
_OUTPUT = click.option("-o", "--output", type=WRITTEN, metavar="FILE", help="Write JSON here, too.")
_REPORTING = group(
    REPORT, click.option("--json", "as_json", is_flag=True, help="Only the JSON object on stdout.")
)


@click.group()
def bench() -> None:
    """Measure this machine: whether results are right, then how long they take."""


def written(target: Path | None, text: str, overwrite: bool) -> None:
    """Write a text where it is wanted."""
    if target:
        with (
            atomic.protected([], lambda name, text: terminal.err(f"warning: {name}: {text}")),
            atomic.writing(target, overwrite) as file,
        ):
            file.write(text.encode())


def measure(
    method: str,
    device: str,
    repeats: int,
    quick: bool,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
    **more: Any,
) -> None:
    """Run the benchmark of a method and write its report where it is wanted.

    SnellenError: some results were wrong; the report, without times for these, is written already.
    """
    from snellen.bench import runner
    from snellen.jobs import lab

    if output:
        atomic.check_target(output, None, overwrite)
    write = terminal.err if as_json else terminal.out
    run: Callable[..., dict[str, Any]] = runner.run
    if method in LARGER:
        run = lab.module(LARGER[method], f"bench {method}").run

    def say(text: str) -> None:
        write(*text.split("\n"))

    report = run(method, repeats, say, device=device, quick=quick, **more)
    written(output, json.dumps(report, indent=1, ensure_ascii=False) + "\n", overwrite)
    if as_json:
        terminal.out(json.dumps(report))
    if report["failed"]:
        raise SnellenError(f"{report['failed']} of {len(report['cells'])} results are wrong")


def command(method: str, text: str) -> None:
    """Add the benchmark of a method, with the help text of its command."""
    measured: list[Callable[[Any], Any]] = [
        click.option("--repeats", type=Whole(1), default=5, show_default=True,
                     help="Timed calls after the first one." if method == "calls" else
                     "Timed runs of each work." if method == "scale" else
                     "Timed rounds on the CPU; four times as many on a GPU."),
        click.option("--quick", is_flag=True, help="Fewer frames, and two workers at most."
                     if method == "scale" else "Fewer sizes."),
    ]  # fmt: skip
    if method == "calls":
        measured.append(
            click.option(
                "--only", default="", metavar="TEXT", help="Calls with this in their names."
            )
        )
    if method == "aplus":
        measured.append(click.option(
            "--model", "models", multiple=True, metavar="NAME|FILE",
            help="A model to time instead of those of 2014; may be repeated.",
        ))  # fmt: skip
    device = _DEVICES if method == "scale" else _DEVICE
    work: Any = partial(measure, method)
    for one in (
        _REPORTING, group(MACHINE, device), group(FILES, _OUTPUT, OVERWRITE),
        group(MEASURED, *measured),
    ):  # fmt: skip
        work = one(work)
    example = ("also as JSON, for a comparison", f"snellen bench {method} -o {method}.json")
    bench.command(method, cls=Command, examples=[example], help=text)(work)


command("aplus", "Time A+: one luma plane, ×2, ×3 and ×4.")
command("cnn", "Time compact networks: one luma plane, ×2, ×3 and ×4.")
command("mad", "Time MAD: 512×512, 1080p and 4K, and each half.")
command("mia", "Time MIA: 200 iterations, 32² to 256², and options.")
command("fft", "Time the small FFTs of snellen.fft on a GPU.")
command("calls", "Time whole calls, films and first uses, in fresh processes.")
command("scale", "Time 1, 2, 4 and 8 workers, each with a GPU, or on the CPU.")


@bench.command(
    cls=Command,
    examples=[("pictures of your own, with crops side by side",
               "snellen bench quality --pictures photos --page crops.html")],
)  # fmt: skip
@group(
    MEASURED,
    click.option(
        "--pictures",
        type=NAMED,
        multiple=True,
        metavar="FOLDER",
        help="Pictures; may be repeated [default: Set5 and Set14 of $SNELLEN_DATA].",
    ),
    click.option(
        "--clip",
        "films",
        type=NAMED,
        multiple=True,
        metavar="FILM|FOLDER",
        help="A film, of which 12 frames are taken, or a folder of films; may be repeated.",
    ),
    click.option(
        "--stills",
        type=NAMED,
        multiple=True,
        metavar="FOLDER",
        help="Pictures that scroll and zoom as clips; may be repeated.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="[NAME=]FILE",
        help="A model beside those of this package; may be repeated.",
    ),
    click.option(
        "--other",
        "others",
        multiple=True,
        metavar="NAME=FOLDER",
        help="What another program made of --inputs; may be repeated.",
    ),
    click.option(
        "--scale", type=click.Choice(["2", "3", "4"]), default="2", show_default=True,
        help="Magnification.",
    ),
    click.option("--quick", is_flag=True, help="Without MAD."),
)  # fmt: skip
@group(
    FILES,
    click.option(
        "--inputs",
        type=NAMED,
        metavar="FOLDER",
        help="Write the small pictures here; a new folder.",
    ),
    click.option(
        "--page", type=WRITTEN, metavar="FILE", help="Write crops side by side here, as HTML."
    ),
    _OUTPUT,
    OVERWRITE,
)
@group(MACHINE, _DEVICE)
@_REPORTING
def quality(
    output: Path | None, page: Path | None, as_json: bool, overwrite: bool, scale: str, **more: Any
) -> None:
    """Measure quality: of enlarged pictures, and of coded clips.

    Clips are blurred, shrunk and coded before. PSNR, SSIM and MAD beside the original, of bicubic,
    Lanczos, every model of this package and what you name; for clips also what each makes of coding
    noise, beside bicubic, and the error in flat areas.
    """
    from snellen.jobs import lab

    report = lab.module("bench.quality.report", "bench quality")
    for target in (output, page):
        if target:
            atomic.check_target(target, None, overwrite)
    write = terminal.err if as_json else terminal.out
    found, text = report.make(write, scale=int(scale), overwrite=overwrite, **more)
    written(output, json.dumps(found, indent=1, ensure_ascii=False) + "\n", overwrite)
    written(page, text, overwrite)
    if as_json:
        terminal.out(json.dumps(found))
