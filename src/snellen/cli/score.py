"""snellen score: two videos, two images or two folders of images, compared by MAD."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from snellen.cli import outputs
from snellen.cli.inputs import NAMED, PIPE, UNREAD, is_still, seconds
from snellen.cli.report import Report
from snellen.errors import InputError, SnellenError

if TYPE_CHECKING:
    from snellen.video.clip import Clip

FILM, FOLDER, IMAGE = "a video", "a folder", "an image"
FILM_ONLY = ("offset", "start", "duration", "deinterlace", "decoder", "temporal")
MANY_ONLY = ("every", "frames")
SHORTEST = 34  # frames of ST-MAD, whose slices through time are scored as pictures are


@click.command()
@click.argument("reference", metavar="REF", type=NAMED)
@click.argument("distorted", metavar="DIST", type=NAMED)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line on standard output.")
@click.option("--csv", "table", type=NAMED, help="A row for each frame; - for standard output.")
@click.option("--map-out", type=NAMED, help="Folder for heat maps of the worst frames, as PNG.")
@click.option(
    "--worst",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="So many frames of the highest MAD are named, and drawn with --map-out.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing outputs.")
@click.option("--resize", "resized", is_flag=True, help="Scale DIST to the size of REF (Lanczos).")
@click.option(
    "--offset", type=int, default=0, show_default=True, help="Frames by which DIST lags behind REF."
)
@click.option(
    "--every",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Score the first frame that has a partner, then every so many.",
)
@click.option("--frames", type=click.IntRange(1), help="Score at most so many frames.")
@click.option("--start", metavar="TIME", help="Begin here in REF, in seconds or [HH:]MM:SS.")
@click.option("--duration", metavar="TIME", help="Stop after so long.")
@click.option("--deinterlace", is_flag=True, help="Make interlaced video progressive (bwdif).")
@click.option(
    "--temporal",
    is_flag=True,
    help="ST-MAD too: of its own scale, for 34 frames or more with motion, all kept in memory.",
)
@click.option(
    "--variant",
    type=click.Choice(["2011", "paper"]),
    default="2011",
    show_default=True,
    help="The lightness of the authors' code of 2011, or of their article.",
)
@click.option(
    "--hi-scale",
    type=float,
    default=200.0,
    show_default=True,
    metavar="NUMBER",
    help="Factor of HI, any positive number: 200 as the code of 2011, 10 as ST-MAD, 1 as the code "
    "of April 2010.",
)
@click.option(
    "--eight-bit-lut", is_flag=True, help="White as the authors' table for 8 bits has it."
)
@click.option(
    "--device", default="auto", show_default=True, metavar="auto|cpu|cuda:N|cuda:0,cuda:1"
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    help="[default: float64 on the CPU, and on a GPU for small pictures]",
)
@click.option(
    "--decoder",
    type=click.Choice(["auto", "cpu", "nvdec"]),
    default="auto",
    show_default=True,
    help="What decodes video; auto is the CPU, which also stands in for nvdec.",
)
def score(reference: Path, distorted: Path, **options: Any) -> None:
    """Score how far DIST is from REF by MAD: 0 is identical, higher is worse (photographs: to 140).

    REF and DIST are two videos (one may be -, y4m on standard input), two images, or two folders of
    images that meet by name without the suffix. Only luma counts, at the depth that it has:
    sample · 255 / (2^bits − 1), limited range is not stretched. Videos meet frame by frame, by
    number; of different lengths what both have is scored.

    MAD is made of HI (what is just seen) and LO (how different it looks). They are pooled over all
    frames: mean, harmonic mean n / Σ 1/(x + 1) − 1, median, least, greatest, and the 5th and 95th
    percentile with linear interpolation. --json writes a line for each frame and a last one with
    "pooled"; of two images a single line.
    """
    to_stdout = options["as_json"] or options["table"] == PIPE
    with Report(options["as_json"], to_stdout) as report:
        try:
            _score(reference, distorted, options, report)
        except SnellenError as error:
            if not report.as_json:
                raise
            report.failure(f"{reference} {distorted}", str(error), error.exit_code)
            sys.exit(error.exit_code)


def _score(reference: Path, distorted: Path, options: dict[str, Any], report: Report) -> None:
    kind = _kind(reference, distorted)
    _check_options(kind, options)
    _check_outputs((reference, distorted), options)
    options["clip"] = _clip(options)
    from snellen.cli.scoring import Scoring

    scoring = Scoring(reference, distorted, options, report)
    {FILM: scoring.films, FOLDER: scoring.folders, IMAGE: scoring.images}[kind]()


def _kind(reference: Path, distorted: Path) -> str:
    """Return what both are."""
    if reference == distorted == PIPE:
        raise InputError("standard input can be one of the two, not both")
    both = reference, distorted
    _check_there(both)
    kinds = [FOLDER if path.is_dir() else IMAGE if is_still(path) else FILM for path in both]
    for path, kind, other in zip(both, kinds, reversed(kinds), strict=True):
        if kind == FILM and other == IMAGE and path.suffix.lower() in UNREAD:
            raise InputError(f"{path}: images of this type are not read; convert it to .png first")
    if kinds[0] != kinds[1]:
        raise InputError(
            f"{reference} is {kinds[0]}, {distorted} is {kinds[1]}: expected two videos, two "
            "images, or two folders of images"
        )
    return kinds[0]


def _check_there(paths: tuple[Path, ...]) -> None:
    for path in paths:
        try:
            there = path == PIPE or path.exists()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        if not there:
            raise InputError(f"{path}: no such file or folder")


def _check_options(kind: str, options: dict[str, Any]) -> None:
    if options["as_json"] and options["table"] == PIPE:
        raise InputError("--json and --csv - both write to standard output; name a file for --csv")
    asked = click.get_current_context().get_parameter_source
    unsuited = {FILM: (), FOLDER: FILM_ONLY, IMAGE: FILM_ONLY + MANY_ONLY}[kind]
    for name in unsuited:
        if asked(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"--{name} came with {kind}; it is for videos" + _also(name))
    if options["temporal"] and options["every"] > 1:
        raise InputError("--temporal needs all frames; leave --every out")
    if options["temporal"] and (options["frames"] or SHORTEST) < SHORTEST:
        raise InputError(f"--temporal needs {SHORTEST} frames or more, not {options['frames']}")


def _also(name: str) -> str:
    return " and folders" if name in MANY_ONLY else ""


def _check_outputs(inputs: tuple[Path, Path], options: dict[str, Any]) -> None:
    try:
        outputs.check(inputs, options["table"], options["map_out"], options["overwrite"])
    except SnellenError:
        raise
    except OSError as error:  # a folder that may not be looked into
        raise InputError(f"{error.filename}: {error.strerror or error}") from error


def _clip(options: dict[str, Any]) -> Clip:
    from snellen.video.clip import Clip

    return Clip(
        start=seconds("--start", options["start"]),
        duration=seconds("--duration", options["duration"]),
        frames=options["frames"],
        deinterlace=options["deinterlace"],
    )
