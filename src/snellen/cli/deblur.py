"""snellen deblur: images, whole videos, and a region of a video, fixed or moving."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from snellen.cli.inputs import NAMED, PIPE, chosen_device, is_still
from snellen.cli.jobs import files, guarded, jobs, video_options
from snellen.cli.report import Report
from snellen.errors import InputError, SnellenError

if TYPE_CHECKING:
    from snellen.cli.deblurring import Deblurring

TOGETHER = (
    ("psf", "psf_size", "the given PSF has a size"),
    ("psf", "psf_start", "nothing is looked for"),
    ("psf", "prior", "a prior finds the PSF, which is given"),
    ("psf", "warm", "a given PSF is the same in every frame"),
    ("prior", "psf_start", "a prior starts from nothing"),
    ("prior", "warm", "a prior finds each PSF from nothing"),
    ("tile", "warm", "each tile has a PSF of its own"),
    ("burst", "prior", "a prior finds the PSF of one picture"),
    ("window", "prior", "a prior finds the PSF of one frame"),
)
"""Options that do not go together, and why."""


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=NAMED)
@click.option(
    "-o",
    "--output",
    required=True,
    type=NAMED,
    help="File; or an existing folder for several inputs or a folder; - for y4m.",
)
@click.option("--psf", type=NAMED, help="The blur, where it is known: .npy, or a grey image.")
@click.option(
    "--psf-size",
    type=click.IntRange(1),
    default=31,
    show_default=True,
    help="Side of the blur that is looked for, pixels; even ones count one more.",
)
@click.option(
    "--psf-start",
    metavar="SIGMA|FILE",
    help="Where the search starts: a Gaussian's σ in pixels, or a file as --psf [default: 2].",
)
@click.option(
    "--psf-out",
    type=NAMED,
    help="Write the blur: .npy holds all that were found, .png (white: its greatest value) the "
    "last one; of several inputs name an existing folder.",
)
@click.option(
    "--iterations",
    type=click.IntRange(1),
    help="At most so many [default: 200; with --prior 100].",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=0.0,
    help="Stop when ten iterations change the picture by less, as 0.001 [default: never].",
)
@click.option(
    "--noise",
    type=click.Choice(["poisson", "gaussian"]),
    default="poisson",
    show_default=True,
    help="Of light that is counted, or equal everywhere.",
)
@click.option(
    "--read-noise",
    type=click.FloatRange(0),
    default=0.0,
    help="Standard deviation of the noise beside Poisson's, white being 1 [default: 0].",
)
@click.option(
    "--tv",
    type=click.FloatRange(0),
    help="Weight of total variation, against noise, as 0.004 [default: 0; with --prior 0.004].",
)
@click.option(
    "--prior",
    type=click.Choice(["l0"]),
    help="Find the blur from sharp edges, coarse to fine: for a single shaken photograph.",
)
@click.option(
    "--edges",
    type=click.Choice(["extend", "taper", "circular"]),
    default="extend",
    show_default=True,
    help="What is beyond the picture: estimated, blended, or its other side.",
)
@click.option(
    "--data-range",
    type=float,
    help="The value of white of float images [default: 1]; that of others goes by their bits.",
)
@click.option("--tile", type=click.IntRange(1), help="Side of tiles, each with a blur of its own.")
@click.option("--roi", metavar="X,Y,W,H", help="Restore this region only, and write it alone.")
@click.option(
    "--roi-file",
    type=NAMED,
    help="Positions X,Y of a video's region, a line for each frame; of --roi W,H count.",
)
@click.option("--paste-back", is_flag=True, help="Write whole frames, the region put back.")
@click.option("--burst", is_flag=True, help="All INPUT are images of one object: one result.")
@click.option(
    "--window",
    type=click.IntRange(1),
    default=1,
    help="Restore each frame of a video from so many: itself and those before it.",
)
@click.option("--warm", is_flag=True, help="Start each frame of a video with the last one's blur.")
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|cuda|cuda:N")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), help="[default: float32]")
@video_options
def deblur(inputs: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Make INPUT… (videos, images, folders, - for y4m) sharp by MIA, and find their blur.

    Blur is the same all over a picture, but with --tile. Of video luma is restored and chroma kept;
    of colour images the blur is that of luma. Which options suit which blur: docs/mia.md. A
    single photograph that was shaken: --prior l0. A blur that is known: --psf. Many pictures of
    one object: --burst, --window.

    --json writes a line for each frame of a video ("fit", "iterations", "ms"), and one for each
    output.
    """
    with Report(options["as_json"], output == PIPE) as report:
        try:
            _check(options)
            if options["burst"]:
                inputs = tuple(files(inputs))
            pairs = [(inputs[0], output)] if options["burst"] else jobs(inputs, output)
            deblurring = _prepared(inputs, pairs, options, report)
        except SnellenError as error:
            if not report.as_json:
                raise
            report.failure(" ".join(map(str, inputs)), str(error), error.exit_code)
            sys.exit(error.exit_code)
        codes = []
        for source, goal in pairs:
            work = partial(_one(deblurring, source, inputs, options), goal)
            codes.append(guarded(work, source, report, len(pairs) > 1))
    sys.exit(max(codes))


def _one(deblurring: Deblurring, source: Path, inputs: tuple[Path, ...], options: Any) -> Any:
    """Return what makes one output."""
    if options["burst"]:
        return partial(deblurring.burst, inputs)
    return partial(deblurring.still if is_still(source) else deblurring.video, source)


def _check(options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    asked = click.get_current_context().get_parameter_source

    def came(name: str) -> bool:
        return asked(name) is ParameterSource.COMMANDLINE

    for one, other, why in TOGETHER:
        if came(one) and came(other):
            words = [f"--{name.replace('_', '-')}" for name in (one, other)]
            raise InputError(f"{words[0]} came with {words[1]}: {why}; leave one of them out")
    if options["paste_back"] and options["roi"] is None:
        raise InputError("--paste-back came without a region: add --roi X,Y,W,H")


def _prepared(
    inputs: tuple[Path, ...], pairs: list[tuple[Path, Path]], options: Any, report: Report
) -> Deblurring:
    """Read what belongs to all inputs, and check what can be checked before any work."""
    from snellen.cli import psfs
    from snellen.cli.deblurring import Deblurring, psf_goals
    from snellen.cli.positions import track

    if options["burst"]:
        _check_burst(inputs, pairs[0][1], options)
    options["track"] = track(options["roi"], options["roi_file"])
    options["blur"] = None if options["psf"] is None else psfs.read(options["psf"])
    options["first"] = psfs.start(options["psf_start"])
    goals = psf_goals([goal for _, goal in pairs], options)
    for path in filter(None, goals.values()):
        used = tuple(p for p in (*inputs, options["psf"]) if p is not None)
        psfs.check(path, used, tuple(goals), options["overwrite"])
    options["found"] = chosen_device(options["device"], report)
    return Deblurring(options, goals, report)


def _check_burst(inputs: tuple[Path, ...], output: Path, options: dict[str, Any]) -> None:
    others = [path for path in inputs if not is_still(path)]
    if others:
        raise InputError(f"{others[0]} is no image; of a video --window N takes frames together")
    if len(inputs) < 2:
        raise InputError("--burst needs two images or more of one object")
    if output.is_dir():
        raise InputError(f"{output} is a folder; --burst makes one image: name a file with -o")
