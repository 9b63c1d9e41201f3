"""snellen compare: videos, images or folders of images side by side, as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.files import report_of
from snellen.cli.groups import FILES, NAMED, REPORT, WRITTEN, Command, group
from snellen.cli.options import REPORTING, all_of, values
from snellen.cli.reports import command_line, print_result
from snellen.errors import InputError, SnellenError
from snellen.jobs.kinds.compare import CompareJob
from snellen.schema import nested

if TYPE_CHECKING:
    from snellen.cli.report import Report


@click.command(
    cls=Command,
    examples=[
        ("two encodings of a film against it, every 10th frame scored",
         "snellen compare slow.mp4 fast.mp4 --reference film.mkv -o report.html --every 10"),
        ("an image and what has become of it",
         "snellen compare photo.png photo.jpg -o report.html"),
    ],
)  # fmt: skip
@click.argument("files", metavar="FILES...", nargs=-1, required=True, type=NAMED)
@group(
    FILES,
    click.option(
        "-o", "--output", "target", type=WRITTEN, required=True, metavar="FILE",
        help="The report, .html.",
    ),
    click.option(
        "--reference",
        type=NAMED,
        metavar="REF",
        help="What all FILES are compared with [default: the first of them].",
    ),
)  # fmt: skip
@all_of(CompareJob)
@group(REPORT, *REPORTING)
def compare(files: tuple[Path, ...], **options: Any) -> None:
    """Compare FILES (videos, images, folders of images) side by side, in one HTML file.

    It opens offline in any browser: the pictures on two sides of a divider, or all side by side, at
    one place and zoom; heat maps of MAD over them; curves of MAD, HI, LO and PSNR with the worst
    frames one click away; statistics, facts about the files, and how the report was made.

    FILES are compared with --reference, or without it with the first of them: frames by number,
    images of folders by name without the suffix. What has another size is scaled to be scored, and
    shown as it is.
    """
    with report_of(options) as report:
        try:
            job = _job(files, options)
            _finish(job, report)
        except SnellenError as error:
            report.failure(" ".join(map(str, files)), error)
            sys.exit(error.exit_code)


def _job(files: tuple[Path, ...], options: dict[str, Any]) -> CompareJob:
    from snellen.jobs.inputs.patterns import the_only

    reference = options.pop("reference")
    if reference is None:
        reference, *rest = files
        if not rest:
            raise InputError(
                f"got {reference} alone; expected another file to compare it with",
                advice="name what it is to be compared with, too",
            )
        files = tuple(rest)
    return CompareJob(
        reference=the_only(reference, "reference"),
        variants=tuple(the_only(one, "variants") for one in files),
        target=options.pop("target"),
        command=command_line(),
        **nested(CompareJob, values(CompareJob, options)),
    )


def _finish(job: CompareJob, report: Report) -> None:
    """Run the job, report its result, and raise what was wrong all the same."""
    from snellen.files.atomic import protected
    from snellen.jobs.calls.execute import run

    report.begun(" ".join(map(str, (job.reference, *job.variants))), str(job.target), job)
    with protected([] if report.log is None else [report.log.path]):
        result = run(job, report)
    print_result(result, report)
    if result.error is not None:
        raise result.error
