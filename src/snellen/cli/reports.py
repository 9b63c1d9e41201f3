"""Words about reports, and --report of other commands: about what they made, or scored."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.addresses import without_secrets
from snellen.cli import recipes
from snellen.cli.groups import FILES, NUMBER, WRITTEN, group
from snellen.cli.options import in_options
from snellen.cli.terminal import counted
from snellen.errors import InputError, SnellenError
from snellen.metrics.registry import title

if TYPE_CHECKING:
    from snellen.cli.report import Report
    from snellen.jobs.calls.report_after import ResultReport
    from snellen.jobs.kinds.compare import CompareJob, CompareResult
    from snellen.jobs.kinds.deblur import DeblurJob
    from snellen.jobs.kinds.upscale import UpscaleJob

Options = dict[str, Any]
_SIZE = 30


def report_options(text: str) -> Callable[[Any], Any]:
    """Return --report and --report-size, as a decorator; `text` says what the report compares."""
    return group(
        FILES,
        click.option(
            "--report",
            type=WRITTEN,
            metavar="FILE",
            help=f"Write a report to look at, one .html file as of snellen compare: {text}.",
        ),
        click.option(
            "--report-size",
            type=NUMBER,
            metavar="NUMBER",
            help=f"Most million bytes of the report [default: {_SIZE}].",
        ),
    )


def taken(options: Options) -> tuple[Path | None, float]:
    """Take both options out of a command's options; return the report and its size.

    InputError: a size without a report.
    """
    target, size = options.pop("report"), options.pop("report_size")
    if target is None and size is not None:
        raise InputError(
            "got `report_size` without `report`", parameter="report_size", advice="name the report"
        )
    return target, _SIZE if size is None else size


def planned(
    wanted: tuple[Path | None, float], jobs: Sequence[UpscaleJob | DeblurJob]
) -> ResultReport | None:
    """Return the report that is wanted about one job; None: none is.

    InputError: there are several jobs; or as of `about_result`.
    """
    target, size = wanted
    if target is None:
        return None
    if len(jobs) != 1:
        raise InputError(
            f"got `report` with {len(jobs)} outputs; a report is about one", parameter="report"
        )
    from snellen.jobs.calls.report_after import about_result

    return about_result(jobs[0], target, size, command_line())


def write(job: CompareJob, make: Callable[[], CompareResult], report: Report) -> int:
    """Write a report; say so, or why it failed, and return the exit code."""
    try:
        result = make()
    except SnellenError as error:
        return report.failure(str(job.target), error)
    print_result(result, report)
    return 0


def print_result(result: CompareResult, report: Report) -> None:
    """Report what was written."""
    facts = {
        "output": str(result.target), "bytes": result.size, "pictures": result.pictures,
        "kept": result.kept, "seconds": result.seconds,
        "scores": [
            {
                "reference": str(one.reference), "distorted": str(one.distorted),
                "pooled": {name: pooled.facts() for name, pooled in one.table.pooled().items()},
            }
            for one in result.scores
        ],
        "warnings": in_options(result.warnings),
    }  # fmt: skip
    first = result.scores[0].table.scores[0]
    lines = []
    for one in result.scores:
        average = " on average" if len(one.table.rows) > 1 else ""
        mean = one.table.pooled()[first].mean
        lines.append(
            f"{one.distorted}: {title(first)} {mean:.4f}{average}, against {one.reference}"
        )
    frames = counted(result.pictures, "frame")
    lines.append(
        f"{result.target}: {result.size / 1e6:.1f} MB, pictures of {frames}, {result.seconds:.1f} s"
    )
    from snellen.jobs.steps.score_table import as_json

    report.result(*lines, **as_json(facts))
    report.profile(str(result.target), result.profile)


def command_line() -> str:
    """Return the command as it was typed, and the options that a file has set behind it."""
    context = click.get_current_context()
    settings = [word for words in recipes.chosen(context).values() for word in words]
    words = ["snellen", *context.find_root().obj, *settings]
    return shlex.join(without_secrets(word) for word in words)
