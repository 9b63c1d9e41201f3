"""Metrics of films, as VMAF, of the pairs of frames of a scoring job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.metrics.registry import of_films
from snellen.video.comparing.luma_reader import WHITE

Array = npt.NDArray[Any]


class FilmScores:
    """Gives metrics of films all pairs in their order; the scores are there at the end.

    Parameters
    ----------
    names : iterable of str
        Metrics; those that are not of films do not count.
    subject : str
        What errors are about.

    Attributes
    ----------
    reach : int
        How many pairs before and after each the metrics look at.
    """

    def __init__(self, names: Iterable[str], subject: str) -> None:
        self._metrics, self._subject = of_films(names), subject
        self._streams: dict[str, Any] = {}
        self._scored: list[bool] = []
        self._depths, self._bits = (8, 8), 8
        self.reach = 1 if self._metrics else 0

    def prepare(self, format: Format, depths: tuple[int, int]) -> None:
        """Get ready for planes of a format, in the depth of the deeper film."""
        self._depths, self._bits = depths, max(depths)
        for metric in self._metrics:
            try:
                stream = metric.module.Stream(Format(format.width, format.height, self._bits))
            except InputError as error:
                raise error.about(self._subject) from None
            self._streams[metric.name] = stream

    def push(self, *planes: Array, scored: bool = True) -> None:
        """Take the next pair; `scored`: whether its scores are wanted, or only its motion."""
        if not self._streams:
            return
        self._scored.append(scored)
        if planes[0].dtype.kind == "f":  # of different depths, and grey as `luma_reader` has it
            planes = tuple(
                np.rint(plane * (((1 << own) - 1) / WHITE)).astype(np.uint16) << (self._bits - own)
                for plane, own in zip(planes, self._depths, strict=True)
            )
        for stream in self._streams.values():
            stream.push(*planes)

    def scores(self) -> dict[str, list[float]]:
        """Return the scores of all pairs that are scored, by the metric's name."""
        return {
            name: [one for one, scored in zip(stream.finish(), self._scored, strict=True) if scored]
            for name, stream in self._streams.items()
        }

    def close(self) -> None:
        """Give back what the metrics have."""
        for stream in self._streams.values():
            stream.close()
