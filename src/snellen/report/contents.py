"""The contents of a report, as values; nothing here knows where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Facts = tuple[tuple[str, str], ...]
"""Names and values, in the order in which they are shown."""

STATISTICS = ("mean", "median", "min", "max", "p5", "p95")
"""Names in `Contents.pooled`, in the order in which they are shown."""


@dataclass(frozen=True, eq=False, slots=True)
class Picture:
    """A picture as browsers show it."""

    samples: Bytes
    """(H, W, 3), 8 bits."""
    profile: bytes | None = None
    """ICC profile; None: sRGB."""


@dataclass(frozen=True, eq=False, slots=True)
class Moment:
    """A frame, or a pair of images, of which the report holds pictures."""

    row: int
    """Its place in `Contents.names`."""
    rank: int
    """From 0: where pictures are left out, those of the greatest rank go first."""
    pictures: tuple[Picture, ...]
    """Those of the reference, then of each variant."""
    size: tuple[int, int]
    """Width and height of the reference in its file, in pixels."""
    aspect: float
    """Width by height as the picture is shown."""
    maps: tuple[Mapping[str, Bytes], ...]
    """For each variant the palette indices of its maps by name, (H, W); empty: it has none."""
    crops: tuple[Picture, ...]
    """The place where variants are worst, as `pictures`; empty: they equal the reference."""
    box: tuple[float, float, float, float]
    """That place: left, top, width and height as shares of the picture."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a kind of map is coloured: index ⌊255·ln(1 + v) / ln(1 + brightest) + ½⌋."""

    name: str
    """Key in `Moment.maps`."""
    title: str
    brightest: float


@dataclass(frozen=True, slots=True)
class Metric:
    """One score of every row."""

    name: str
    title: str
    better: str
    """"lower" or "higher"."""
    unit: str = ""
    scale: str = ""
    """The meaning of its values, in a few words."""


@dataclass(frozen=True, slots=True)
class Contents:
    """All of a report but its pictures."""

    title: str
    labels: tuple[str, ...]
    """Those of the reference, then of each variant."""
    names: tuple[str, ...]
    """The name of each row: a frame with its time, or an image."""
    is_film: bool
    """Rows are frames of films, else images."""
    numbers: tuple[int, ...]
    """Number of each row's frame, rising."""
    metrics: tuple[Metric, ...]
    scores: tuple[Mapping[str, tuple[float | None, ...]], ...]
    """For each variant and name of a metric the score of each row; None: it has none, or is
    infinite."""
    pooled: tuple[Mapping[str, Mapping[str, float]], ...]
    """For each variant and name of a metric its statistics over all rows by name."""
    worst: tuple[tuple[int, int], ...]
    """Row and variant (from 0) of the worst, the worst first."""
    worst_by: str
    """Name of the metric by which they are the worst."""
    scales: tuple[Scale, ...]
    palette: Bytes
    """(256, 3) colours of maps."""
    facts: tuple[Facts, ...]
    """Facts of each file."""
    made: Facts
    """How the report was made: command, versions, settings."""
    notes: tuple[str, ...] = ()
    """Sentences about what differs, is missing, or must be known to read the figures."""
