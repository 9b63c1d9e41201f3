"""snellen train: an A+ model from a folder of images."""

from __future__ import annotations

import json
import math
import os
import shlex
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli import interrupts, report, terminal
from snellen.cli.groups import FILES, MACHINE, METHOD, REPORT, Command, group
from snellen.cli.options import MAX_PIXELS, NAMED, OVERWRITE, key_values, option
from snellen.errors import worded

if TYPE_CHECKING:
    from snellen.jobs.events import Events, Progress
    from snellen.jobs.train import TrainResult

LEARNING = ("window", "anchors", "energy", "sparsity", "iterations", "samples", "neighbours",
            "ridge", "seed", "seeds", "hold_out")  # fmt: skip


@click.command(
    cls=Command,
    examples=[
        ("a model that doubles width and height",
         "snellen train --images pictures -o mine.safetensors"),
        ("the best of four seeds, measured on pictures that no seed has seen",
         "snellen train --images pictures -o mine.safetensors --seeds 4 --hold-out 10"),
    ],
)  # fmt: skip
@group(
    FILES,
    click.option("--images", required=True, type=NAMED, help="Folder of training images."),
    click.option(
        "-o", "--output", required=True, type=NAMED, help="The model, a .safetensors file."
    ),
    click.option(
        "--validate",
        multiple=True,
        type=NAMED,
        help="Folder of images to measure the finished model on; may be repeated.",
    ),
    click.option(
        "--about",
        "notes",
        multiple=True,
        metavar="KEY=VALUE",
        help="A note for the model's header, such as a licence; may be repeated.",
    ),
    OVERWRITE,
)
@group(
    METHOD,
    click.option("--scale", type=click.IntRange(2, 4), default=2, show_default=True),
    click.option("--seed", type=int, help="First seed of K-SVD [default: 0]."),
    click.option("--seeds", type=int, help="Seeds to try; the best is taken [default: 1]."),
    click.option(
        "--hold-out", type=int, help="Training images that compare the seeds [default: 0]."
    ),
    click.option("--anchors", type=int, help="Anchors of the model [default: 1024]."),
    click.option("--window", type=int, help="Side in low-resolution pixels, odd [default: 3]."),
    click.option(
        "--energy", type=float, help="Share of the energy that PCA keeps [default: 0.999]."
    ),
    click.option("--sparsity", type=int, help="Atoms of a feature in K-SVD [default: 3]."),
    click.option("--iterations", type=int, help="Rounds of K-SVD [default: 20]."),
    click.option("--samples", type=int, help="Most samples to learn from [default: 5000000]."),
    click.option("--neighbours", type=int, help="Samples of an anchor [default: 2048]."),
    click.option("--ridge", type=float, help="λ of the regression [default: by the anchors]."),
)
@group(
    MACHINE,
    click.option("--threads", type=click.IntRange(1), help="[default: all cores of this process]"),
    MAX_PIXELS,
)
@group(
    REPORT,
    click.option("--json", "as_json", is_flag=True, help="The report as one JSON object."),
)
def train(images: Path, scale: int, output: Path, **options: Any) -> None:
    """Learn an A+ model from a folder of images.

    With --seeds and --hold-out, K-SVD starts from several seeds; each is judged on images that it
    never saw, and the best dictionary is then completed with all images.
    """
    from snellen.jobs import Settings
    from snellen.jobs.execute import run
    from snellen.jobs.train import TrainJob

    learning = {name: options[name] for name in LEARNING if options[name] is not None}
    job = TrainJob(
        images=images, target=output, settings=Settings(scale, **learning),
        validate=options["validate"], notes=key_values("--about", options["notes"], "author=me"),
        command=_command(), threads=options["threads"], overwrite=options["overwrite"],
        max_pixels=options["max_pixels"],
    )  # fmt: skip
    with ExitStack() as stack:
        result = run(job, _events(stack))
    terminal.out(*([_as_json(result)] if options["as_json"] else _as_text(result)))
    if result.error is not None:
        raise result.error


def _command() -> str:
    """Return the command as it was given; folders and files by name, without their paths."""
    context = click.get_current_context()
    words = ["snellen", "train"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        given = context.params[name]
        for value in given if isinstance(given, tuple) else (given,):
            words.append(parameter.opts[-1])
            if value is not True:
                words.append(_name(value) if isinstance(value, Path) else str(value))
    return shlex.join(words)


def _name(folder: Path) -> str:
    """Return the name of a file or folder without its path."""
    return Path(os.path.realpath(folder)).name


def _events(stack: ExitStack) -> Events:
    """Return what draws a bar for each stage, on stderr and only on a terminal."""
    from snellen.jobs.events import Silent

    bars = stack.enter_context(report.bars()) if terminal.interactive() else None
    tasks: dict[str, Any] = {}

    class Drawn(Silent):
        def progress(self, progress: Progress) -> None:
            interrupts.check()
            stage = progress.stage or ""
            if bars is None:
                return
            with suppress(OSError, ValueError):  # the terminal has gone: the work goes on
                if stage not in tasks:
                    tasks[stage] = bars.add_task(
                        terminal.shown(stage), total=progress.total, rate=""
                    )
                bars.update(tasks[stage], completed=progress.done)

        def warning(self, subject: str, message: str) -> None:
            terminal.err(f"warning: {worded(subject, option)}: {worded(message, option)}")

    return Drawn()


def _as_text(result: TrainResult) -> list[str]:
    """Return what was made, in lines."""
    from snellen.jobs.train import mean

    model, report = result.model, result.report
    count, dims = model.anchors.shape
    lines = [
        f"{result.target}: ×{model.scale}, {count} anchors, {dims} dimensions, seed {report.seed}",
        f"{report.images} images, {report.windows} windows ({report.energy:.3%} of the energy "
        f"kept), {report.samples} samples, {report.seconds:.1f} s",
    ]
    lines += [
        f"seed {seed}: {value:.4f} dB on {len(report.held_out)} images held out"
        for seed, value in report.candidates
    ]
    for name, table in result.validation.items():
        lines += [f"{name} {image}: {value:.4f} dB" for image, value in table.items()]
        lines.append(f"{name}: {mean(table):.4f} dB")
    return lines


def _as_json(result: TrainResult) -> str:
    from snellen.jobs.train import mean

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    model, report = result.model, result.report
    facts = {
        "output": str(result.target),
        "scale": model.scale,
        "window": model.window,
        "anchors": len(model.anchors),
        **asdict(report),
        "candidates": [{"seed": k, "psnr": finite(value)} for k, value in report.candidates],
        "validation": {
            name: {
                "psnr": finite(mean(table)),
                "images": {image: finite(value) for image, value in table.items()},
            }
            for name, table in result.validation.items()
        },
    }
    return json.dumps(facts)
