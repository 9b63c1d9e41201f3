"""The scores of a run: rows, statistics, and the table as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from snellen.files import atomic
from snellen.frames.brief import Brief
from snellen.mad.pooling import Pooled, pool, pool_psnr

SCORES = ("mad", "hi", "lo", "psnr", "ssim", "vmaf")
OF_MEAN_MSE = "psnr_of_mean_mse"
"""Column of tables of many pairs: PSNR of the mean squared error of each."""


@dataclass(frozen=True, slots=True, repr=False)
class ScoreRow(Brief):
    """The score of one picture or frame."""

    mad: float | None
    """0: no visible difference from its reference; higher is worse. None: not asked for."""
    hi: float | None
    """Of the detection stage."""
    lo: float | None
    """Of the appearance stage."""
    frame: int | None = None
    """Number of the frame or of the pair of images, from 0; None: there are just two images."""
    time: float | None = None
    """Seconds from the beginning of the reference; None: an image."""
    name: str | None = None
    """Name of the image in its folder, without suffix; None: a frame of a video."""
    psnr: float | None = None
    """Peak signal-to-noise ratio in dB, infinite for equal pictures; None: not asked for."""
    ssim: float | None = None
    """Structural similarity, 1 for equal pictures; None: not asked for."""
    vmaf: float | None = None
    """VMAF of a frame of a film, 0 to 100, where 100 is best; None: not asked for."""

    def facts(self) -> dict[str, Any]:
        """Return frame, time or name, then the scores: those that the row has."""
        found = {name: getattr(self, name) for name in ("frame", "time", "name", *SCORES)}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True, repr=False)
class ScoreTable(Brief):
    """The scores of one run, at least one."""

    rows: tuple[ScoreRow, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: "frame" and "time" or "name", where there are such, and scores."""
        return tuple(self.rows[0].facts())

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores: "mad", "hi", "lo", and other metrics that were asked for."""
        return tuple(name for name in self.columns if name in SCORES)

    def pooled(self) -> dict[str, Pooled]:
        """Return the statistics of each score, by its name."""
        return {
            name: (pool_psnr if name == "psnr" else pool)([getattr(row, name) for row in self.rows])
            for name in self.scores
        }

    def worst(self, count: int) -> list[ScoreRow]:
        """Return the rows with the worst first score, the worst first; of equals the first.

        That is the highest MAD, or without MAD the lowest of the first other metric.
        """
        first = self.scores[0]
        sign = -1 if first == "mad" else 1
        return sorted(self.rows, key=lambda row: sign * float(getattr(row, first)))[:count]

    def _repr_html_(self) -> str:
        """Return statistics and the worst rows, for notebooks."""
        from snellen.frames.notebook import table

        pooled = {name: one.facts() for name, one in self.pooled().items()}
        head = list(next(iter(pooled.values())))
        lines = [(name.upper(), *(one[key] for key in head)) for name, one in pooled.items()]
        found = table(["", *head], lines)
        worst = self.worst(len(self.rows))
        return found + table(self.columns, [list(row.facts().values()) for row in worst])

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


def as_json(value: Any) -> Any:
    """Return facts as JSON can say them: the infinite PSNR of equal pictures becomes None."""
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def csv_line(values: Iterable[Any]) -> str:
    """Return a line of CSV; a byte of a file name that is no UTF-8 becomes a question mark."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(values)
    return file.getvalue().encode(errors="replace").decode()
