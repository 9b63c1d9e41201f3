"""Results of `snellen score`, as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from snellen.cli import terminal
from snellen.cli.options import in_options
from snellen.metrics.registry import title

if TYPE_CHECKING:
    from snellen.jobs.kinds.score import ScoreJob, ScoreResult
    from snellen.jobs.steps.score_table import ScoreRow, ScoreTable


_COLUMNS = {
    "mean": "mean", "harmonic_mean": "harmonic", "median": "median", "min": "min", "max": "max",
    "p5": "p5", "p95": "p95",
}  # fmt: skip
"""Statistics, and what the text calls them."""


def facts_of(result: ScoreResult, job: ScoreJob) -> dict[str, Any]:
    """Return what the last line of JSON says."""
    from snellen.jobs.runs.score_run import about

    return {
        "pooled": {name: one.facts() for name, one in result.table.pooled().items()},
        **about(job, result),
        "worst": [row.facts() for row in result.table.worst(job.worst)],
        "warnings": in_options(result.warnings),
    }


def json_of(facts: Any) -> Any:
    """Return facts as JSON has them."""
    from snellen.jobs.steps.score_table import as_json

    return as_json(facts)


def write_line(values: Iterable[Any]) -> None:
    """Write a line of CSV to standard output; newlines in a value stay, in quotation marks."""
    from snellen.jobs.steps.score_table import csv_line

    cells = [_visible(one) if isinstance(one, str) else one for one in values]
    terminal.out(*csv_line(cells).removesuffix("\n").split("\n"))


def _visible(text: str) -> str:
    """Return a text of several lines, each as a terminal may get it."""
    return "\n".join(map(terminal.shown, text.replace("\r\n", "\n").split("\n")))


def statistics(table: ScoreTable) -> list[str]:
    """Return a table of the pooled scores, a line for each score."""
    titles = [title(name) for name in table.scores]
    wide = max(5, *(len(one) + 1 for one in titles))
    lines = [" " * wide + "".join(f"{word:>13}" for word in _COLUMNS.values())]
    for name, pooled in zip(titles, table.pooled().values(), strict=True):
        figures = "".join(f"{getattr(pooled, key):13.4f}" for key in _COLUMNS)
        lines.append(f"{name:{wide}}{figures}")
    return lines


def sentences(result: ScoreResult) -> list[str]:
    """Return in words what was compared, and ST-MAD."""
    count, where = len(result.table.rows), f"{result.seconds:.1f} s on {result.method.device}"
    summary = result.summary
    if summary is None:
        return [f"{count} pair{'s' * (count != 1)} of images, {where}"]
    of = ""
    if summary.reference_frames is not None:
        of = f" of {summary.reference_frames} and {summary.distorted_frames}"
    pictures = f"{summary.reference_pictures} and {summary.distorted_pictures}"
    lines = [f"{count} frame{'s' * (count != 1)}{of}, {pictures}, {where}"]
    for name, pooled in result.table.pooled().items():
        if pooled.of_mean_mse is not None:
            lines.append(f"{title(name)} of the mean squared error: {pooled.of_mean_mse:.4f}")
    for name, model in result.table.models.items():
        lines.append(f"{name.replace('_', ' ').replace('vmaf', 'VMAF')}: {model}")
    if result.aligned:
        ahead = "ahead of" if result.offset < 0 else "behind"
        count = abs(result.offset)
        lines.append(f"aligned: DIST is {count} frame{'s' * (count != 1)} {ahead} REF")
    if (moving := result.temporal) is not None:
        lines.append(f"ST-MAD {moving.stmad:.4f}  SMAD {moving.smad:.4f}  TMAD {moving.tmad:.4f}")
    return lines


def line(row: ScoreRow) -> str:
    """Return the scores of a picture."""
    return "  ".join(f"{title(name)} {one:.4f}" for name, one in row.scores.items())


def place(row: ScoreRow) -> str:
    """Return which picture a row is about."""
    return row.name if row.name is not None else f"frame {row.frame} at {row.time or 0:.3f} s"
