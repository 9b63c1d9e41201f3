"""snellen train: an A+ model from a folder of images."""

from __future__ import annotations

import json
import math
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.errors import InputError, OutputError

if TYPE_CHECKING:
    from snellen.aplus.model import Model
    from snellen.aplus.training.train import Progress, Report

FOLDER = click.Path(path_type=Path)
LEARNING = ("window", "anchors", "energy", "sparsity", "iterations", "samples", "neighbours",
            "ridge", "seed", "seeds", "hold_out")  # fmt: skip


@click.command()
@click.option("--images", required=True, type=FOLDER, help="Folder of training images.")
@click.option("--scale", type=click.IntRange(2, 4), default=2, show_default=True)
@click.option("-o", "--output", required=True, type=FOLDER, help="The model, a .safetensors file.")
@click.option(
    "--validate",
    multiple=True,
    type=FOLDER,
    help="Folder of images to measure the finished model on; may be repeated.",
)
@click.option("--seed", type=int, help="First seed of K-SVD [default: 0].")
@click.option("--seeds", type=int, help="Seeds to try; the best is taken [default: 1].")
@click.option("--hold-out", type=int, help="Training images that judge the seeds [default: 0].")
@click.option("--anchors", type=int, help="Anchors of the model [default: 1024].")
@click.option("--window", type=int, help="Side in low-resolution pixels, odd [default: 3].")
@click.option("--energy", type=float, help="Share of the energy that PCA keeps [default: 0.999].")
@click.option("--sparsity", type=int, help="Atoms of a feature in K-SVD [default: 3].")
@click.option("--iterations", type=int, help="Rounds of K-SVD [default: 20].")
@click.option("--samples", type=int, help="Most samples to learn from [default: 5000000].")
@click.option("--neighbours", type=int, help="Samples of an anchor [default: 2048].")
@click.option("--ridge", type=float, help="λ of the regression [default: by the anchors].")
@click.option("--threads", type=click.IntRange(1), help="[default: all cores of this process]")
@click.option(
    "--about",
    "notes",
    multiple=True,
    metavar="KEY=VALUE",
    help="A note for the model's header, such as a licence; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="The report as one JSON object.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
def train(images: Path, scale: int, output: Path, **options: Any) -> None:
    """Learn an A+ model from a folder of images.

    With --seeds and --hold-out, K-SVD starts from several seeds; each is judged on images that it
    never saw, and the best dictionary is then completed with all images.
    """
    from snellen.aplus.training import train as training
    from snellen.aplus.training.protocol import EVALUATED, planes, psnr_table, require
    from snellen.frames import atomic

    learning = {name: options[name] for name in LEARNING if options[name] is not None}
    settings = training.Settings(scale, **learning)
    notes = _notes(options["notes"])
    if output.suffix != ".safetensors":
        raise InputError(f"{output}: a model file ends in .safetensors")
    atomic.check_target(output, None, options["overwrite"])
    validation = {_name(folder): planes(folder) for folder in options["validate"]}
    for name, found in validation.items():
        require(found, EVALUATED * scale, f"validation at ×{scale} on {name}")
    with ExitStack() as stack:
        model, report = training.train(
            planes(images), settings, threads=options["threads"], progress=_progress(stack)
        )
    tables = {name: psnr_table(found, model) for name, found in validation.items()}
    model = _described(model, images, notes, tables)
    with atomic.replacing(output, options["overwrite"]) as temporary:
        _save(model, temporary)
    tell = _as_json if options["as_json"] else _as_text
    click.echo(tell(output, model, report, tables))


def _notes(options: tuple[str, ...]) -> dict[str, str]:
    for option in options:
        if not option.partition("=")[1]:
            raise InputError(f"--about {option}: expected KEY=VALUE, such as --about author=me")
    return dict(option.split("=", 1) for option in options)


def _name(folder: Path) -> str:
    """Return a folder's name without its place."""
    return folder.resolve().name


def _progress(stack: ExitStack) -> Progress:
    """Return what draws a bar for each stage, on stderr and only on a terminal."""
    if not sys.stderr.isatty():
        return lambda stage, done: None
    from rich.console import Console
    from rich.progress import Progress as Bars

    bars = stack.enter_context(Bars(console=Console(stderr=True)))
    tasks: dict[str, Any] = {}

    def draw(stage: str, done: float) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=1.0)
        bars.update(tasks[stage], completed=done)

    return draw


def _described(
    model: Model, images: Path, notes: dict[str, str], tables: dict[str, dict[str, float]]
) -> Model:
    """Return the model with its data, command, date and PSNR in `about`."""
    from dataclasses import replace
    from datetime import UTC, datetime

    about = {
        **notes,
        **model.about,
        "data": _name(images),
        "command": _command(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    for name, table in tables.items():
        about[f"psnr_{name}"] = f"{_mean(table):.4f}"
        about[f"psnr_{name}_images"] = ", ".join(f"{k}: {v:.4f}" for k, v in table.items())
    return replace(model, about=about)


def _command() -> str:
    """Return the command as it was given; folders and files by name, without their place."""
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


def _save(model: Model, path: Path) -> None:
    from safetensors import SafetensorError

    try:
        model.save(path)
    except (SafetensorError, OSError) as error:
        raise OutputError(f"the model could not be written: {error}") from error


def _mean(table: dict[str, float]) -> float:
    return sum(table.values()) / len(table)


def _as_text(
    output: Path, model: Model, report: Report, tables: dict[str, dict[str, float]]
) -> str:
    count, dims = model.anchors.shape
    lines = [
        f"{output}: ×{model.scale}, {count} anchors, {dims} dimensions, seed {report.seed}",
        f"{report.images} images, {report.windows} windows ({report.energy:.3%} of the energy "
        f"kept), {report.samples} samples, {report.seconds:.1f} s",
    ]
    lines += [
        f"seed {seed}: {value:.4f} dB on {len(report.held_out)} images held out"
        for seed, value in report.candidates
    ]
    for name, table in tables.items():
        lines += [f"{name} {image}: {value:.4f} dB" for image, value in table.items()]
        lines.append(f"{name}: {_mean(table):.4f} dB")
    return "\n".join(lines)


def _as_json(
    output: Path, model: Model, report: Report, tables: dict[str, dict[str, float]]
) -> str:
    from dataclasses import asdict

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    facts = {
        "output": str(output),
        "scale": model.scale,
        "window": model.window,
        "anchors": len(model.anchors),
        **asdict(report),
        "candidates": [{"seed": k, "psnr": finite(value)} for k, value in report.candidates],
        "validation": {
            name: {
                "psnr": finite(_mean(table)),
                "images": {image: finite(value) for image, value in table.items()},
            }
            for name, table in tables.items()
        },
    }
    return json.dumps(facts)
