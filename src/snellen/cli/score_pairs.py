"""--pairs: scores of many pairs of files, as text, JSON lines and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli import interrupts, terminal
from snellen.cli.groups import PIPE
from snellen.cli.options import in_options, option
from snellen.cli.report import Report
from snellen.cli.score_text import write_line
from snellen.errors import InputError
from snellen.metrics.registry import title

if TYPE_CHECKING:
    from snellen.jobs.calls.pair_scores import PairScore
    from snellen.jobs.calls.pair_table import PairTable
    from snellen.jobs.kinds.score import ScoreJob


def check_arguments(pairs: Path | None, reference: Path | None, distorted: Path | None) -> None:
    """Refuse (UsageError) too few files, or too many beside --pairs."""
    context = click.get_current_context()
    if pairs is not None and reference is not None:
        raise click.UsageError("--pairs goes without REF and DIST: the list has them.")
    if pairs == PIPE:
        raise click.UsageError("--pairs names a file: names in the list are those from its folder.")
    for name, given in (("reference", reference), ("distorted", distorted)):
        if pairs is None and given is None:
            argument = next(one for one in context.command.params if one.name == name)
            raise click.MissingParameter(ctx=context, param=argument)


def run_pairs(
    file: Path,
    job: ScoreJob,
    table: Path | None,
    page: Path | None,
    report: Report,
) -> int:
    """Score the pairs of a list with the settings of a job; return the exit code."""
    from snellen.files.atomic import protected
    from snellen.jobs.calls.pair_list import read_pairs
    from snellen.jobs.calls.pair_scores import score_pairs
    from snellen.jobs.calls.pair_table import PairTable, check_maps, columns, maps_of

    if page is not None:
        raise InputError("got `report` with `pairs`; it is of one pair", parameter="report")
    job.check_metrics()
    pairs = read_pairs(file)
    to_stdout = table == PIPE
    growing = None
    if table is not None and not to_stdout:
        with protected([file] if report.log is None else [file, report.log.path]):
            growing = PairTable(table, job, pairs, job.overwrite)
    goes_on = growing is not None and growing.is_begun
    if job.maps is not None:
        check_maps(job.maps, None if to_stdout else table, job.overwrite or goes_on)
    code = 0
    with growing or nullcontext():
        left = list(range(len(pairs)))
        if growing is not None:
            left = growing.left
            if text := _going_on(growing, len(pairs)):
                report.notice(str(table), text)
        if to_stdout:
            write_line(columns(job, pairs))

        def jobs() -> Iterator[ScoreJob]:
            for number in left:
                reference, distorted = pairs[number]
                if growing is not None:
                    growing.begin(number)
                maps = job.maps and maps_of(job.maps, number, pairs[number])
                yield replace(
                    job, reference=reference, distorted=distorted, maps=maps, overwrite=True
                )

        scores = score_pairs(jobs(), report, job.workers, total=len(left), cluster=job.cluster)
        for number, score in zip(left, scores, strict=True):
            interrupts.check()
            facts, carried = score.facts(option), pairs.carried_of(number)
            if growing is not None:
                growing.add(number, facts)
            if to_stdout:
                write_line((facts | carried).get(name, "") for name in columns(job, pairs))
            elif report.as_json:
                terminal.out(json.dumps(_facts(score, carried)))
            elif score.pooled:
                report.result(_line(score))
            if score.error is not None:
                code = max(code, score.error.exit_code)
                if not report.as_json:
                    report.failure(str(score.distorted), score.error)
    return code


def _going_on(table: PairTable, count: int) -> str:
    """Return that a table goes on, and which of its rows are made again; "": it is a new one."""
    done = count - len(table.left)
    again = [
        f"{number} {what}"
        for number, what in ((table.changed, "with other files now"), (table.failed, "that failed"))
        if number
    ]
    if not done and not again:
        return ""
    more = f"; those left are scored, {' and '.join(again)} again" if again else ""
    return f"goes on: {done} of {count} pairs are scored{more}"


def _facts(score: PairScore, carried: dict[str, str]) -> Any:
    from snellen.jobs.steps.score_table import as_json

    found: dict[str, Any] = {
        "reference": str(score.reference), "distorted": str(score.distorted),
        "frames": score.frames,
        "pooled": {name: one.facts() for name, one in score.pooled.items()},
    }  # fmt: skip
    if carried:
        found["carried"] = carried
    if score.stmad is not None:
        found["stmad"] = score.stmad
    if score.error is not None:
        found |= {"error": score.error.worded(option), "exit_code": score.error.exit_code}
    return as_json(found | {"warnings": in_options(score.warnings)})


def _line(score: PairScore) -> str:
    figures = [f"{title(name)} {one.mean:.4f}" for name, one in score.pooled.items()]
    if score.stmad is not None:
        figures.append(f"ST-MAD {score.stmad:.4f}")
    frames = f"{score.frames} frames, mean " if score.frames > 1 else ""
    return f"{score.distorted}: {frames}{'  '.join(figures)}"
