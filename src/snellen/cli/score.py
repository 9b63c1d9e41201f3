"""snellen score: two videos, two images or two folders of images, compared by MAD."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli import interrupts, terminal
from snellen.cli.files import reporting
from snellen.cli.groups import FILES, NAMED, PIPE, REPORT, Command, group
from snellen.cli.options import REPORTING, all_of, values
from snellen.cli.report import Report
from snellen.cli.reports import command_line, report_options, taken, write
from snellen.cli.score_pairs import check_arguments, run_pairs
from snellen.cli.score_text import (
    facts_of,
    json_of,
    line,
    place,
    sentences,
    statistics,
    write_line,
)
from snellen.errors import InputError, SnellenError
from snellen.jobs.kinds.score import ScoreJob
from snellen.schema import nested

if TYPE_CHECKING:
    from snellen.jobs.kinds.compare import CompareJob


@click.command(
    cls=Command,
    examples=[
        ("every frame of a film, with heat maps of the two worst",
         "snellen score film.mkv encoded.mp4 --map-out maps --worst 2"),
        ("two folders of images that meet by name, as a table, with PSNR and SSIM beside MAD",
         "snellen score originals encoded --csv scores.csv --metrics mad,psnr,ssim"),
    ],
)  # fmt: skip
@click.argument("reference", metavar="REF", type=NAMED, required=False)
@click.argument("distorted", metavar="DIST", type=NAMED, required=False)
@group(
    FILES,
    click.option(
        "--pairs",
        type=NAMED,
        metavar="LIST",
        help="Instead of REF and DIST a CSV file with both in each line, from its folder: a result "
        "for each line, in order. Its first line may name the columns. With --csv FILE the same "
        "command goes on after a kill; --csv - writes to standard output.",
    ),
)
@all_of(ScoreJob)
@report_options("DIST beside REF")
@group(REPORT, *REPORTING)
def score(reference: Path | None, distorted: Path | None, **options: Any) -> None:
    """Score how far DIST is from REF by MAD: higher is worse.

    0 is no visible difference, and photographs reach some 140. PSNR (dB), SSIM (1 for equal
    pictures) and VMAF (to 100) are higher for better ones.

    REF and DIST are two videos (one may be -, y4m on standard input), two images, or two folders of
    images that meet by name without the suffix. Only luma counts, at the depth that it has:
    sample · 255 / (2^bits − 1), limited range is not stretched. Videos meet frame by frame, by
    number; of different lengths what both have is scored.

    MAD is made of HI (what is just seen) and LO (how different it looks). They are pooled over all
    frames: mean, harmonic mean n / Σ 1/(x + 1) − 1, median, least, greatest, and the 5th and 95th
    percentile with linear interpolation. --json writes a line for each frame and a last one with
    "pooled"; of two images a single line.
    """
    pairs = options.pop("pairs")
    check_arguments(pairs, reference, distorted)
    from snellen.jobs.inputs.patterns import the_only

    level, log = reporting(options)
    with _ScoreReport(options.pop("as_json"), options["table"] == PIPE, level, log) as report:
        try:
            wanted = taken(options)
            if pairs is not None:
                table, options["table"] = options["table"], None
                job = _job(pairs, pairs, options, report)
                sys.exit(run_pairs(pairs, job, table, wanted[0], report))
            assert reference is not None and distorted is not None
            reference, distorted = (
                the_only(reference, "reference"),
                the_only(distorted, "distorted"),
            )
            job = _job(reference, distorted, options, report)
            after = _report(job, *wanted)
            _finish(job, report, after)
        except SnellenError as error:
            report.failure(str(pairs) if pairs else f"{reference} {distorted}", error)
            sys.exit(error.exit_code)


class _ScoreReport(Report):
    """A report that writes each score to standard output where JSON, or CSV, is wanted there."""

    results_are_asked_for = True

    def __init__(self, as_json: bool, as_csv: bool, level: int, log: Path | None) -> None:
        super().__init__(as_json, as_json or as_csv, level, log)
        self.as_csv = as_csv
        self._has_head = False

    def frame(self, subject: str, frame: Any) -> None:
        """Write the score of a picture."""
        interrupts.check()
        facts = frame.facts()
        if self.as_json:
            terminal.out(json.dumps(json_of(facts)))
        elif self.as_csv:
            if not self._has_head:
                self._has_head = True
                write_line(facts)
            write_line(facts.values())


def _job(
    reference: Path, distorted: Path, options: dict[str, Any], report: _ScoreReport
) -> ScoreJob:
    if report.as_csv:
        if report.as_json:
            raise InputError(
                "--json and --csv - both write to standard output; name a file for --csv"
            )
        options["table"] = None
    fields = nested(ScoreJob, values(ScoreJob, options))
    return ScoreJob(reference=reference, distorted=distorted, **fields)


def _report(job: ScoreJob, target: Path | None, size: float) -> CompareJob | None:
    """Return the job of the report that is wanted; None: none is."""
    if target is None:
        return None
    from snellen.jobs.calls.report_after import about_score

    return about_score(job, target, size, command_line())


def _finish(job: ScoreJob, report: _ScoreReport, after: CompareJob | None) -> None:
    """Run the job, report its result, and raise what was wrong all the same."""
    from snellen.files.atomic import protected
    from snellen.jobs.calls.execute import run
    from snellen.jobs.kinds.score import IMAGE

    report.begun(str(job.reference), str(job.distorted), job)
    with protected([] if report.log is None else [report.log.path]):
        result = run(job, report)
    if result.kind == IMAGE:
        if not report.as_json:
            report.result(line(result.table.rows[0]))
    elif report.as_json:
        terminal.out(json.dumps(json_of(facts_of(result, job))))
        report.logged(*statistics(result.table))
    else:
        worst = [f"worst: {place(row)}, {line(row)}" for row in result.table.worst(job.worst)]
        report.result(*statistics(result.table), *sentences(result), *worst)
    report.profile(str(job.distorted), result.profile)
    if after is not None:
        from snellen.jobs.calls.report_after import after_score

        code = write(after, lambda: after_score(after, result, report), report)
        if code and result.error is None:
            sys.exit(code)
    if result.error is not None:
        raise result.error
    if job.maps and result.kind != IMAGE and not report.as_json:
        report.result(f"maps of these: {job.maps}")
