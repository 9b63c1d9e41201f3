"""snellen train: a model of A+, or a compact network, from a folder of images."""

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
from snellen.cli.groups import (
    FILES,
    MACHINE,
    METHOD,
    NAMED,
    NUMBER,
    REPORT,
    WRITTEN,
    Command,
    Whole,
    group,
)
from snellen.cli.options import MAX_PIXELS, OVERWRITE, key_values, option
from snellen.errors import InputError, worded

if TYPE_CHECKING:
    from snellen.jobs import NetworkSettings, Settings
    from snellen.jobs.events import Events, Progress
    from snellen.jobs.kinds.train import TrainJob, TrainResult

APLUS = ("window", "anchors", "energy", "sparsity", "iterations", "samples", "neighbours", "ridge",
         "seeds")  # fmt: skip
CNN = ("network", "steps", "batch", "patch")
BOTH = ("seed", "hold_out")


@click.command(
    cls=Command,
    examples=[
        ("a model that doubles width and height",
         "snellen train --images pictures -o mine.safetensors"),
        ("a compact network by PyTorch; the same command goes on where it was interrupted",
         "snellen train --method cnn --images pictures -o mine.safetensors --steps 50000"),
    ],
)  # fmt: skip
@group(
    FILES,
    click.option("--images", required=True, type=NAMED, help="Folder of training images."),
    click.option(
        "-o", "--output", required=True, type=WRITTEN, help="The model, a .safetensors file."
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
    click.option(
        "--method",
        type=click.Choice(["aplus", "cnn"]),
        default="aplus",
        show_default=True,
        help="A+, or a compact network (needs PyTorch: snellen[train]).",
    ),
    click.option(
        "--scale",
        type=Whole(2, 4),
        default=2,
        show_default=True,
        help="Magnification.",
    ),
    click.option("--seed", type=int, help="First seed of what is drawn [default: 0]."),
    click.option(
        "--hold-out",
        type=int,
        help="Training images on which seeds, or a network's progress, are measured [default: 0].",
    ),
)
@group(
    "A+",
    click.option("--seeds", type=int, help="Seeds to try; the best is taken [default: 1]."),
    click.option("--anchors", type=int, help="Anchors of the model [default: 1024]."),
    click.option("--window", type=int, help="Side in low-resolution pixels, odd [default: 3]."),
    click.option(
        "--energy", type=NUMBER, help="Share of the energy that PCA keeps [default: 0.999]."
    ),
    click.option("--sparsity", type=int, help="Atoms of a feature in K-SVD [default: 3]."),
    click.option("--iterations", type=int, help="Rounds of K-SVD [default: 20]."),
    click.option("--samples", type=int, help="Most samples to learn from [default: 5000000]."),
    click.option("--neighbours", type=int, help="Samples of an anchor [default: 2048]."),
    click.option("--ridge", type=NUMBER, help="λ of the regression [default: by the anchors]."),
)
@group(
    "Compact network",
    click.option(
        "--network",
        type=click.Choice(["fast", "fine"]),
        help="4 layers of 16 channels, or 6 of 32 [default: fast].",
    ),
    click.option("--steps", type=int, help="Steps of the optimiser [default: 20000]."),
    click.option("--batch", type=int, help="Patches in a step [default: 32]."),
    click.option(
        "--patch", type=int, help="Side of a patch in low-resolution pixels [default: 48]."
    ),
)
@group(
    MACHINE,
    click.option(
        "--device",
        default="auto",
        show_default=True,
        metavar="DEVICE",
        help="Where a network is trained: auto, cpu, cuda or cuda:N.",
    ),
    click.option("--threads", type=Whole(1), help="CPU threads [default: one for each core]."),
    MAX_PIXELS,
)
@group(
    REPORT,
    click.option("--json", "as_json", is_flag=True, help="The report as one JSON object."),
)
def train(images: Path, scale: int, output: Path, **options: Any) -> None:
    """Learn a model from a folder of images.

    A+: with --seeds and --hold-out, K-SVD starts from several seeds; each is judged on images that
    it never saw, and the best dictionary is then completed with all images.

    A compact network: an interrupted training is kept beside the output (.checkpoint), and goes on
    when the same command is given again. On one device, it gives the same network every time.
    """
    from snellen.jobs.calls.execute import run
    from snellen.jobs.kinds.train import TrainJob

    job = TrainJob(
        images=images, target=output, settings=_settings(scale, options), device=options["device"],
        validate=options["validate"], notes=key_values("--about", options["notes"], "author=me"),
        command=_command(), threads=options["threads"], overwrite=options["overwrite"],
        max_pixels=options["max_pixels"],
    )  # fmt: skip
    with ExitStack() as stack:
        try:
            result = run(job, _events(stack))
        except KeyboardInterrupt:
            stack.close()
            terminal.err(f"notice: {_kept(job)}")
            raise
    terminal.out(*([_as_json(result)] if options["as_json"] else _as_text(result)))
    if result.error is not None:
        raise result.error


def _kept(job: TrainJob) -> str:
    """Return what there is of a training that was interrupted."""
    if not job.is_network:
        return "nothing is kept of a training of A+: the same command begins again"
    if job.checkpoint.exists():
        return f"{job.checkpoint} has what was learnt: the same command goes on from there"
    return "nothing is kept: no step was finished"


def _settings(scale: int, options: dict[str, Any]) -> Settings | NetworkSettings:
    """Return how to learn; refuse what belongs to the other method."""
    from snellen.jobs import NetworkSettings, Settings

    own, other = (CNN, APLUS) if options["method"] == "cnn" else (APLUS, CNN)
    for name in other:
        if options[name] is not None:
            raise InputError(
                f"got `{name}`={options[name]}, which `method`={options['method']} does not have",
                parameter=name,
            )
    given = {name: options[name] for name in (*own, *BOTH) if options[name] is not None}
    return (NetworkSettings if options["method"] == "cnn" else Settings)(scale, **given)


def _command() -> str:
    """Return the command as it was given; folders and files by name, without their paths."""
    context, sources = click.get_current_context(), click.core.ParameterSource
    words = ["snellen", "train"]
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.params.get(name)  # None: --recipe, whose settings stand here themselves
        source = context.get_parameter_source(name)
        if given in (None, False) or source not in (sources.COMMANDLINE, sources.DEFAULT_MAP):
            continue
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
    from snellen.jobs.kinds.train import mean

    lines = _network_text(result) if _is_network(result) else _aplus_text(result)
    for name, table in result.validation.items():
        lines += [f"{name} {image}: {value:.4f} dB" for image, value in table.items()]
        lines.append(f"{name}: {mean(table):.4f} dB")
    return lines


def _is_network(result: TrainResult) -> bool:
    return hasattr(result.report, "parameters")


def _aplus_text(result: TrainResult) -> list[str]:
    model: Any = result.model
    report: Any = result.report
    count, dims = model.anchors.shape
    return [
        f"{result.target}: ×{model.scale}, {count} anchors, {dims} dimensions, seed {report.seed}",
        f"{report.images} images, {report.windows} windows ({report.energy:.3%} of the energy "
        f"kept), {report.samples} samples, {report.seconds:.1f} s",
        *(f"seed {seed}: {value:.4f} dB on {len(report.held_out)} images held out"
          for seed, value in report.candidates),
    ]  # fmt: skip


def _network_text(result: TrainResult) -> list[str]:
    model: Any = result.model
    report: Any = result.report
    return [
        f"{result.target}: ×{model.scale}, {model.layers} × {model.channels} channels, "
        f"{report.parameters} parameters",
        f"{report.images} images, {report.steps} steps on {report.device}"
        + (f", the first {report.begun} before" if report.begun else "")
        + f", {report.seconds:.1f} s",
        *(f"step {step}: {value:.4f} dB on the images held out"
          for step, value in report.held_out.items()),
    ]  # fmt: skip


def _as_json(result: TrainResult) -> str:
    from snellen.jobs.kinds.train import mean

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    model: Any = result.model
    report: Any = result.report
    facts: dict[str, Any] = {"output": str(result.target), "scale": model.scale}
    if _is_network(result):
        psnr = [{"step": step, "psnr": finite(value)} for step, value in report.held_out.items()]
        facts |= {"layers": model.layers, "channels": model.channels, **asdict(report)}
        facts["held_out"] = psnr
    else:
        facts |= {"window": model.window, "anchors": len(model.anchors), **asdict(report)}
        facts["candidates"] = [
            {"seed": seed, "psnr": finite(value)} for seed, value in report.candidates
        ]
    facts["validation"] = {
        name: {
            "psnr": finite(mean(table)),
            "images": {image: finite(value) for image, value in table.items()},
        }
        for name, table in result.validation.items()
    }
    return json.dumps(facts)
