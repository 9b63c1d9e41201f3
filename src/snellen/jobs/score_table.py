"""The scores of a run: rows, statistics, and the table as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.frames import atomic
from snellen.frames.brief import Brief
from snellen.mad.pooling import Pooled, pool

SCORES = ("mad", "hi", "lo")


@dataclass(frozen=True, slots=True, repr=False)
class ScoreRow(Brief):
    """The score of one picture or frame."""

    mad: float
    """0: no visible difference from its reference; higher is worse."""
    hi: float
    """Of the detection stage."""
    lo: float
    """Of the appearance stage."""
    frame: int | None = None
    """Number of the frame or of the pair of images, from 0; None: there are just two images."""
    time: float | None = None
    """Seconds from the beginning of the reference; None: an image."""
    name: str | None = None
    """Name of the image in its folder, without suffix; None: a frame of a video."""

    def facts(self) -> dict[str, Any]:
        """Return frame, time or name where the row has them, then the scores."""
        before = {name: getattr(self, name) for name in ("frame", "time", "name")}
        found = {name: value for name, value in before.items() if value is not None}
        return {**found, **{name: getattr(self, name) for name in SCORES}}


@dataclass(frozen=True, slots=True, repr=False)
class ScoreTable(Brief):
    """The scores of one run, at least one."""

    rows: tuple[ScoreRow, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: "frame" and "time" or "name", where there are such, and scores."""
        return tuple(self.rows[0].facts())

    def pooled(self) -> dict[str, Pooled]:
        """Return the statistics of each score, by "mad", "hi" and "lo"."""
        return {name: pool([getattr(row, name) for row in self.rows]) for name in SCORES}

    def worst(self, count: int) -> list[ScoreRow]:
        """Return the rows with the highest MAD, the worst first; of equals the first."""
        return sorted(self.rows, key=lambda row: -row.mad)[:count]

    def to_csv(self) -> str:
        """Return the table as CSV (RFC 4180), with a line of column names."""
        return csv_line(self.columns) + "".join(csv_line(row.facts().values()) for row in self.rows)

    def write(self, path: Path, overwrite: bool) -> None:
        """Write the table as CSV; the file appears only when it is complete.

        Raises
        ------
        OutputError
            The disk is full or not writable, or the file exists and `overwrite` is False.
        """
        with atomic.writing(path, overwrite) as file:
            file.write(self.to_csv().encode())


def csv_line(values: Iterable[Any]) -> str:
    """Return a line of CSV; a byte of a file name that is no UTF-8 becomes a question mark."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(values)
    return file.getvalue().encode(errors="replace").decode()
