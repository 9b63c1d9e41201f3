"""snellen deblur: images, whole videos, and a region of a video, fixed or moving."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.files import facts, report_of, run_files, sentence
from snellen.cli.groups import FILES, METHOD, Command, group
from snellen.cli.options import SEGMENTS, output_option, video, video_command
from snellen.cli.plans import go_on, parts_of_a_plan, plan_options
from snellen.cli.previews import preview_options
from snellen.cli.reports import report_options
from snellen.cli.types import NAMED, NUMBER, WRITTEN, Output, Whole

if TYPE_CHECKING:
    from snellen.jobs.deblur import DeblurJob, DeblurResult
    from snellen.jobs.planning import Plan

SETTINGS = (
    "psf", "psf_size", "psf_start", "iterations", "tolerance", "noise", "read_noise", "tv",
    "prior", "edges", "tile", "data_range", "dtype",
)  # fmt: skip
"""Options that are settings of MIA."""


@click.command(
    cls=Command,
    examples=[
        ("a single photograph that was shaken, as photo-sharp.jpg",
         "snellen deblur photo.jpg"),
        ("a picture whose blur is known, from a picture of a point",
         "snellen deblur photo.tif -o sharp.tif --psf point.png --tv 0.001"),
    ],
)  # fmt: skip
@click.argument("inputs", metavar="INPUT...", nargs=-1, type=NAMED)
@group(
    FILES,
    output_option("photo-sharp.png"),
    click.option(
        "--psf-out",
        type=WRITTEN,
        help="Write the blur: .npy holds all that were found, .png (white: its greatest value) the "
        "last one; of several inputs name a folder.",
    ),
    *SEGMENTS,
)
@group(
    "The blur",
    click.option(
        "--prior",
        type=click.Choice(["auto", "frames", "l0", "none"]),
        default="auto",
        show_default=True,
        help="l0: find the blur from sharp edges. auto: that for images, which stay as they are if "
        "no plausible blur is found; none with --psf, --psf-start, --burst and videos. frames: "
        "auto, for each frame of a video, too. none: find the blur along with the picture.",
    ),
    click.option("--psf", type=NAMED, help="The blur, where it is known: .npy, or a grey image."),
    click.option(
        "--psf-size",
        type=Whole(1),
        help="Side of the blur that is estimated, pixels; even ones count one more [default: 31].",
    ),
    click.option(
        "--psf-start",
        metavar="SIGMA|FILE",
        help="Where the search starts: a Gaussian's σ in pixels, or a file as --psf [default: 2].",
    ),
    click.option("--tile", type=Whole(1), help="Side of tiles, each with a blur of its own."),
    click.option("--burst", is_flag=True, help="All INPUT are images of one object: one result."),
    click.option(
        "--window",
        type=Whole(1),
        default=1,
        help="Restore each frame of a video from so many: itself and those before it.",
    ),
    click.option(
        "--warm", is_flag=True, help="Start each frame of a video with the last one's blur."
    ),
)
@group(
    METHOD,
    click.option(
        "--iterations",
        type=Whole(1),
        help="At most so many [default: 200].",
    ),
    click.option(
        "--tolerance",
        type=click.FloatRange(0),
        default=0.0,
        help="Stop when ten iterations change the picture by less, as 0.001 [default: never].",
    ),
    click.option(
        "--noise",
        type=click.Choice(["poisson", "gaussian"]),
        default="poisson",
        show_default=True,
        help="Of light that is counted, or equal everywhere.",
    ),
    click.option(
        "--read-noise",
        type=click.FloatRange(0),
        default=0.0,
        help="Standard deviation of Gaussian noise added to Poisson's, white being 1 [default: 0].",
    ),
    click.option(
        "--tv",
        type=click.FloatRange(0),
        help="Weight of total variation, against noise, as 0.004 [default: 0; by the noise with "
        "--prior].",
    ),
    click.option(
        "--edges",
        type=click.Choice(["extend", "taper", "circular"]),
        default="extend",
        show_default=True,
        help="What is beyond the picture: estimated, blended, or its other side.",
    ),
    click.option(
        "--data-range",
        type=NUMBER,
        help="The value of white of float images [default: 1, or the brightest beyond 2]; that of "
        "others goes by their bits.",
    ),
    click.option(
        "--dtype", type=click.Choice(["float32", "float64"]), help="Precision [default: float32]."
    ),
)
@group(
    "A region",
    click.option("--roi", metavar="X,Y,W,H", help="Restore this region only, and write it alone."),
    click.option(
        "--roi-file",
        type=NAMED,
        help="Positions X,Y of a video's region, a line for each frame; of --roi W,H count.",
    ),
    click.option("--paste-back", is_flag=True, help="Write whole frames, the region put back."),
)
@plan_options
@video_command
@report_options("the result beside its source")
@preview_options
def deblur(inputs: tuple[Path, ...], output: Output | None, **options: Any) -> None:
    """Make INPUT… (videos, images, folders, URLs, - for a pipe) sharp by MIA, and find their blur.

    Blur is the same all over a picture, but with --tile. Of video luma is restored and chroma kept;
    of colour images the blur is that of luma. Images without a blur that can be found stay as they
    are. Which options suit which blur: docs/mia.md. A blur that is known: --psf. Many
    pictures of one object: --burst, --window.

    --json writes a line for each frame of a video ("fit", "iterations", "ms"), of a long film when
    it is complete, and one for each output.
    """
    from snellen.jobs.naming import SHARP
    from snellen.jobs.search import expanded

    if parts_of_a_plan(inputs, options):
        with report_of(options) as report:
            sys.exit(go_on(options, report, _line))
    together = options.pop("burst")

    def make(todo: Plan, options: dict[str, Any]) -> list[DeblurJob]:
        sources: list[Any] = [one for one, _ in todo.pairs]
        if together and sources:
            sources = [tuple(expanded(inputs))]
        return _jobs(sources, [goal for _, goal in todo.pairs], options)

    run_files(inputs, output, options, lambda one: SHARP, make, _line, together)


def _jobs(sources: list[Any], targets: list[Path], options: dict[str, Any]) -> list[DeblurJob]:
    """Return a job for each output, checked as far as files of pictures are not needed for it."""
    if options["prior"] == "none":
        options["prior"] = None
    from snellen.jobs import folders
    from snellen.jobs.deblur import DeblurJob, psf_targets
    from snellen.jobs.options import MiaSettings
    from snellen.jobs.positions import Region

    psfs = psf_targets(targets, options.pop("psf_out"))
    how = {
        "mia": MiaSettings(**{name: options.pop(name) for name in SETTINGS}),
        "region": Region.of(options.pop("roi"), options.pop("roi_file")),
        "video": video(options),
        "segments": not options.pop("no_segments"),
        **options,
    }
    jobs = [
        DeblurJob(source=source, target=target, psf_out=psf, **how)
        for source, target, psf in zip(sources, targets, psfs, strict=True)
    ]
    with folders.made(psf for psf in psfs if psf is not None):
        for job in jobs:
            job.check()
    return jobs


def _line(result: DeblurResult) -> tuple[str, dict[str, Any]]:
    """Return a sentence about a result, and the same as facts for JSON."""
    found = facts(result)
    psf = None if result.psf_file is None else str(result.psf_file)
    times = result.statistics
    if times is None:
        warnings = found.pop("warnings")
        done = f"{result.iterations} iterations, fit {result.fit:.3g}"
        if not result.iterations:
            done = "as the source"
        return (
            f"{result.target}: {result.width}×{result.height}, {done}, "
            f"{(result.ms or 0) / 1000:.1f} s on {result.device}",
            {**found, "fit": result.fit, "iterations": result.iterations, "ms": result.ms,
             "outcome": result.outcome, "psf": psf, "warnings": warnings},
        )  # fmt: skip
    return (
        f"{sentence(result)}; {times.ms_p50:.1f} ms a frame (99 %: {times.ms_p99:.1f}), "
        f"{result.iterations:.4g} iterations, fit {result.fit:.3g}",
        {**found, "outcome": result.outcome, "psf": psf, **asdict(times)},
    )
