"""Metrics of films, as VMAF, of the pairs of frames of a scoring job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.metrics.colours import Picture
from snellen.metrics.registry import Metric, of_films
from snellen.video.comparing.luma_reader import WHITE

Array = npt.NDArray[Any]


class FilmScores:
    """Gives metrics of films all pairs in their order; the scores are there at the end.

    Parameters
    ----------
    names : iterable of str
        Metrics; those that are not of films do not count.
    settings : mapping
        The values of parameters that name models, as `vmaf_model`.
    subject : str
        What errors are about.

    Attributes
    ----------
    reach : int
        How many pairs before and after each the metrics look at.
    whole : bool
        Whether one of them looks at chroma: `push` gets pictures.
    models : dict
        The names of the models that score, by parameter.
    """

    def __init__(self, names: Iterable[str], settings: Mapping[str, str], subject: str) -> None:
        self._settings, self._subject = settings, subject
        self._metrics = of_films(names)
        self._streams: dict[str, Any] = {}
        self._takes_whole = {one.name: one.module.whole(*self._given(one)) for one in self._metrics}
        self._scored: list[bool] = []
        self._depths, self._bits = (8, 8), 8
        self._size = 0, 0
        self._rate = Fraction(25)
        self.reach = max((one.module.reach(*self._given(one)) for one in self._metrics), default=0)
        self.whole = any(self._takes_whole.values())
        self.models: dict[str, str] = {}

    def _given(self, metric: Metric) -> tuple[str, ...]:
        return () if metric.setting is None else (self._settings[metric.setting],)

    def prepare(self, format: Format, depths: tuple[int, int], rate: Fraction) -> None:
        """Get ready for planes of a format, in the depth of the deeper film."""
        self._depths, self._bits, self._rate = depths, max(depths), rate
        self._size = size = format.width, format.height
        for one in self._metrics:
            if one.setting is not None:
                self.models[one.setting] = one.module.called(*self._given(one), *size)
            if not self._takes_whole[one.name]:
                self._begin(one, Format(*size, self._bits))

    def _begin(self, metric: Metric, format: Format) -> None:
        try:
            stream = metric.module.Stream(format, self._rate, *self._given(metric))
        except InputError as error:
            raise error.about(self._subject) from None
        self._streams[metric.name] = stream

    def push(self, *planes: Any, scored: bool = True) -> None:
        """Take luma and pictures of a pair; not `scored`: it is only seen."""
        if not self._metrics:
            return
        self._scored.append(scored)
        both, pictures = planes[:2], planes[2:]
        if self.whole:
            self._push_whole(*pictures)
        if both[0].dtype.kind == "f":  # of different depths, and grey as `luma_reader` has it
            both = tuple(
                np.rint(plane * (((1 << own) - 1) / WHITE)).astype(np.uint16) << (self._bits - own)
                for plane, own in zip(both, self._depths, strict=True)
            )
        for name, stream in self._streams.items():
            if not self._takes_whole[name]:
                stream.push(*((plane,) for plane in both))

    def _push_whole(self, *pictures: Picture) -> None:
        formats = [one.coding.format for one in pictures]
        for one in self._metrics:
            if not self._takes_whole[one.name]:
                continue
            if one.name not in self._streams:
                self._check_chroma(one, formats)
                self._begin(one, replace(formats[0], bits=self._bits))
            self._streams[one.name].push(*(
                tuple(plane.astype(np.uint16) << (self._bits - format.bits) for plane in p.planes)
                if format.bits < self._bits else p.planes
                for p, format in zip(pictures, formats, strict=True)
            ))  # fmt: skip

    def _check_chroma(self, metric: Metric, formats: list[Format]) -> None:
        if formats[0].subsampling != formats[1].subsampling:
            raise InputError(
                f"{self._subject}: {metric.title} compares chroma here, and the films have it "
                "subsampled differently",
                parameter="metrics",
                advice="bring them to one pixel format",
            )

    def scores(self) -> dict[str, list[float]]:
        """Return the scores of all pairs that are scored, by name."""
        found: dict[str, list[float]] = {}
        for metric in self._metrics:
            every = self._streams[metric.name].finish()
            kept = [one for one, scored in zip(every, self._scored, strict=True) if scored]
            found |= {name: [one[name] for one in kept] for name in metric.columns}
        return found

    def close(self) -> None:
        """Give back what the metrics have."""
        for stream in self._streams.values():
            stream.close()
