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
from snellen.cli.groups import FILES, MACHINE, METHOD, NAMED, REPORT, WRITTEN, Command, Whole, group
from snellen.cli.options import MAX_PIXELS, OVERWRITE, if_given, key_values, of, option
from snellen.errors import InputError, worded
from snellen.jobs import NetworkSettings, Settings
from snellen.jobs.kinds.train import TrainJob, mean
from snellen.schema import parameters

if TYPE_CHECKING:
    from snellen.jobs.events import Events, Progress
    from snellen.jobs.kinds.train import TrainResult


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
    *of(TrainJob, "validate", "notes"),
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
    *if_given(Settings, "seed", "hold_out"),
)
@group(
    "A+",
    *if_given(Settings, "seeds", "anchors", "window", "energy", "sparsity", "iterations"),
    *if_given(Settings, "samples", "neighbours", "ridge"),
)
@group("Compact network", *if_given(NetworkSettings, "network", "steps", "batch", "patch"))
@group(
    MACHINE,
    *of(TrainJob, "device"),
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
    kinds: Any = (Settings, NetworkSettings)
    kind, other = kinds[::-1] if options["method"] == "cnn" else kinds
    own = parameters(kind)
    for name in parameters(other):
        if name not in own and options.get(name) is not None:
            raise InputError(
                f"got `{name}`={options[name]}, which `method`={options['method']} does not have",
                parameter=name,
            )
    given = {name: options[name] for name in own if options.get(name) is not None}
    settings: Settings | NetworkSettings = kind(scale, **given)
    return settings


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
