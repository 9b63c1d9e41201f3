"""Luma of one video, read ahead in a thread of its own, with each frame's number.

Nothing is skipped by seeking: a frame's number is certain only when all before it were decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.frame import Plane
from snellen.metrics.colours import Picture
from snellen.video.channel import PATIENCE
from snellen.video.source.decode import Source
from snellen.video.source.thread import SourceThread

WHITE = 255.0
"""Value of white of `grey`."""


@dataclass(frozen=True, slots=True)
class Luma:
    """The luma of one frame."""

    number: int
    """From 0 at the video's first frame."""
    time: Fraction
    """Seconds from the video's beginning."""
    plane: npt.NDArray[Any]
    """Samples, read-only, rows may have a pitch."""
    picture: Picture | None = None
    """The frame with its chroma, where it was asked for."""


class LumaReader:
    """Luma of frames `first`, `first` + `every` … of a video; iterating gives it until the end.

    Beside each of these there are `reach` frames before and after it. The video's first frame that
    has a partner is number `origin`, and `begin` its time, once it is decoded. Each plane of luma
    is converted in the reading thread, and before that `whole` makes a Picture of the planes of a
    frame, where they are given. So many `frames` have been decoded so far, whether or not they were
    given out.
    """

    def __init__(
        self,
        source: Source,
        first: int,
        every: int,
        origin: int,
        convert: Callable[[Plane], npt.NDArray[Any]] | None = None,
        reach: int = 0,
        whole: Callable[[tuple[Plane, ...]], Picture] | None = None,
    ) -> None:
        self.source = source
        self.first = first
        self.frames = 0
        self.begin: Fraction | None = None
        self._origin = origin
        self._every, self._reach = every, reach
        self._convert, self._whole = convert, whole
        self._counting = False
        self._thread = SourceThread(source, self._read)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def __iter__(self) -> Iterator[Luma]:
        return iter(self._thread)

    def takes(self, number: int) -> bool:
        """Return whether a frame is among those that `first` and `every` name."""
        return (number - self.first) % self._every == 0

    def finish(self) -> None:
        """Read to the video's end, only to count its frames and to find damage."""
        self._counting = True
        for _ in self._thread:
            pass
        self._thread.join()

    def stop(self) -> None:
        """Read no more; does not wait for the thread."""
        self._thread.stop()

    def abandon(self) -> None:
        """Wait for the stopped thread; if it hangs in a stream, the source stays open."""
        self._thread.join(PATIENCE)

    def _read(self) -> Iterator[Luma]:
        for item in self.source.items():
            if item.frame is None:
                continue
            number, self.frames = self.frames, self.frames + 1
            time = item.frame.pts * self.source.info.time_base
            if number == self._origin:
                self.begin = time
            place = (number - self.first) % self._every
            is_near = min(place, self._every - place) <= self._reach
            if self._counting or number < self.first or not is_near:
                continue
            picture = None if self._whole is None else self._whole(item.frame.planes)
            plane: npt.NDArray[Any] = (picture or item.frame).planes[0]
            if self._convert is not None:
                plane = self._convert(plane)
            yield Luma(number, time, plane, picture)


def grey(plane: npt.NDArray[Any], bits: int) -> npt.NDArray[np.float64]:
    """Return samples of `bits` as grey 0 … 255, a scale on which all depths can be compared."""
    return plane * (WHITE / ((1 << bits) - 1))
