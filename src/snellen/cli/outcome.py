"""What `snellen score` finds: lines of JSON, a table in CSV, a few lines of text."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from snellen.cli.inputs import PIPE
from snellen.cli.report import printable
from snellen.frames import atomic
from snellen.mad.pooling import pool

NUMBERS = ("mad", "hi", "lo")
_COLUMNS = {
    "mean": "mean", "harmonic_mean": "harmonic", "median": "median", "min": "min", "max": "max",
    "p5": "p5", "p95": "p95",
}  # fmt: skip


class Outcome:
    """The scores of one run; told as they come where that is wanted.

    Parameters
    ----------
    keys : what a row has before its scores: "frame" and "time", "frame" and "name", or nothing
    as_json : whether each row is a line of JSON on standard output
    table : a file for CSV, - for standard output; None: none
    """

    def __init__(self, keys: tuple[str, ...], as_json: bool, table: Path | None) -> None:
        self.rows: list[dict[str, Any]] = []
        self._columns = (*keys, *NUMBERS)
        self._as_json = as_json
        self._table = table
        if table == PIPE:
            _say(_row(self._columns))

    def add(self, score: Any, **facts: Any) -> None:
        """Take the score of one picture."""
        row = {**facts, **{name: float(getattr(score, name)) for name in NUMBERS}}
        self.rows.append(row)
        if self._as_json:
            _say(json.dumps(row) + "\n")
        if self._table == PIPE:
            _say(_row([row[name] for name in self._columns]))

    def write(self, overwrite: bool) -> None:
        """Write the table, if it goes to a file; it appears only when it is whole."""
        if self._table is None or self._table == PIPE:
            return
        lines = [_row(self._columns), *(_row([row[c] for c in self._columns]) for row in self.rows)]
        with atomic.replacing(self._table, overwrite) as temporary:
            temporary.write_text("".join(lines), encoding="utf-8", newline="")

    def pooled(self) -> dict[str, dict[str, float]]:
        """Return the statistics of each score."""
        return {name: asdict(pool([row[name] for row in self.rows])) for name in NUMBERS}

    def worst(self, count: int) -> list[dict[str, Any]]:
        """Return the rows with the highest MAD; of equals the first."""
        return sorted(self.rows, key=lambda row: -row["mad"])[:count]

    def end(self, **facts: Any) -> None:
        """Tell the statistics as the last line of JSON, if that is wanted."""
        if self._as_json:
            _say(json.dumps({"pooled": self.pooled(), **facts}) + "\n")

    def text(self) -> str:
        """Return the statistics as lines of text."""
        lines = ["     " + "".join(f"{word:>13}" for word in _COLUMNS.values())]
        for name, statistics in self.pooled().items():
            figures = "".join(f"{statistics[key]:13.4f}" for key in _COLUMNS)
            lines.append(f"{name.upper():5}{figures}")
        return "\n".join(lines)


def line(row: dict[str, Any]) -> str:
    """Return the scores of one picture as text."""
    return "  ".join(f"{name.upper()} {row[name]:.4f}" for name in NUMBERS)


def _row(values: Any) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(values)
    return printable(file.getvalue())


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
