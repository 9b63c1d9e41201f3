"""snellen deblur: images, whole videos, and a region of a video, fixed or moving."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.groups import NAMED, Command, Output, group
from snellen.cli.options import file_command, values
from snellen.cli.plans import go_on, parts_of_a_plan, plan_options
from snellen.cli.previews import preview_options
from snellen.cli.reports import report_options
from snellen.jobs.kinds.deblur import DeblurJob, psf_targets
from snellen.jobs.options.positions import Region
from snellen.schema import BLUR, REGION, nested

if TYPE_CHECKING:
    from snellen.jobs.calls.planning import Plan
    from snellen.jobs.kinds.deblur import DeblurResult


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
@file_command(DeblurJob, "photo-sharp.png")
@group(
    BLUR,
    click.option("--burst", is_flag=True, help="All INPUT are images of one object: one result."),
)
@group(
    REGION,
    click.option(
        "--roi-file",
        "positions",
        type=NAMED,
        help="Positions X,Y of a video's region, a line for each frame; of --roi W,H count.",
    ),
)
@plan_options
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
    from snellen.cli.files import report_of, run_files  # help does without
    from snellen.jobs.inputs.naming import SHARP
    from snellen.jobs.inputs.search import expanded

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
    from snellen.jobs.inputs import folders

    fields = nested(DeblurJob, values(DeblurJob, options))
    psfs = psf_targets(targets, fields.pop("psf_out"))
    fields["region"] = Region.of(fields["region"], options.pop("positions"))
    jobs = [
        DeblurJob(source=source, target=target, psf_out=psf, **fields)
        for source, target, psf in zip(sources, targets, psfs, strict=True)
    ]
    with folders.made(psf for psf in psfs if psf is not None):
        for job in jobs:
            job.check()
    return jobs


def _line(result: DeblurResult) -> tuple[str, dict[str, Any]]:
    """Return a sentence about a result, and the same as facts for JSON."""
    from snellen.cli.files import facts, sentence

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
