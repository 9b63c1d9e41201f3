"""The scores of a run: rows, statistics, and the table as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from snellen.files import atomic
from snellen.frames.brief import FLAT, Brief, table
from snellen.metrics import registry
from snellen.metrics.pooling import Pooled, pool, pool_psnr


@dataclass(frozen=True, slots=True, repr=False)
class ScoreRow(Brief):
    """The scores of one picture or frame.

    Each score is an attribute, too, and None where its metric was not asked for: `mad` with its
    parts `hi` (of the detection stage) and `lo` (of the appearance stage), `psnr`, `ssim`,
    `ssimulacra2`, `vmaf`, `xpsnr`.
    """

    scores: Mapping[str, float] = field(hash=False, metadata=FLAT)
    """The scores by name, in the order of the metrics."""
    frame: int | None = None
    """Number of the frame or of the pair of images, from 0; None: there are just two images."""
    time: float | None = None
    """Seconds from the beginning of the reference; None: an image."""
    name: str | None = None
    """Name of the image in its folder, without suffix; None: a frame of a video."""
    models: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The models of metrics that have several, by parameter, as `vmaf_model`."""

    if TYPE_CHECKING:  # checkers of types would take any name for a score
        mad: ClassVar[float | None]
        hi: ClassVar[float | None]
        lo: ClassVar[float | None]
        psnr: ClassVar[float | None]
        ssim: ClassVar[float | None]
        ssimulacra2: ClassVar[float | None]
        vmaf: ClassVar[float | None]
        xpsnr: ClassVar[float | None]
        xpsnr_y: ClassVar[float | None]
        xpsnr_u: ClassVar[float | None]
        xpsnr_v: ClassVar[float | None]
    else:

        def __getattr__(self, name: str) -> float | None:
            """Return a score; None: it was not asked for."""
            return registry.held(self.scores, name)

    def __dir__(self) -> list[str]:
        """Return the names of scores, too, which notebooks complete."""
        return sorted({*object.__dir__(self), *self.scores})

    def facts(self) -> dict[str, Any]:
        """Return frame, time or name, as far as the row has them, the scores, and models."""
        place = {"frame": self.frame, "time": self.time, "name": self.name}
        return {name: one for name, one in place.items() if one is not None} | {
            **self.scores,
            **self.models,
        }


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
        return tuple(self.rows[0].scores)

    @property
    def models(self) -> dict[str, str]:
        """The models of metrics that have several, by parameter, as `vmaf_model`."""
        return dict(self.rows[0].models)

    def pooled(self) -> dict[str, Pooled]:
        """Return the statistics of each score, by its name."""
        return {
            name: (pool_psnr if registry.of_column(name).decibels else pool)(
                [row.scores[name] for row in self.rows]
            )
            for name in self.scores
        }

    def worst(self, count: int) -> list[ScoreRow]:
        """Return the rows with the worst first score, the worst first; of equals the first.

        That is the highest MAD, or without MAD the worst of the first other metric.
        """
        first = self.scores[0]
        sign = -1 if registry.of_column(first).better == "lower" else 1
        return sorted(self.rows, key=lambda row: sign * row.scores[first])[:count]

    def _repr_html_(self) -> str:
        """Return statistics and the worst rows, for notebooks."""
        pooled = {name: one.facts() for name, one in self.pooled().items()}
        head = list(next(iter(pooled.values())))
        lines = [
            (registry.title(name), *(one[key] for key in head)) for name, one in pooled.items()
        ]
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


def of_mean_error(names: Iterable[str]) -> dict[str, str]:
    """Return the columns for the scores of mean errors in tables of many pairs, by metric."""
    decibels = (name for name in names if registry.METRICS[name].decibels)
    return {name: f"{name}_of_mean_mse" for name in decibels}


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
