"""Frames of an excerpt as the encoder gets them, kept in a file that no kill leaves behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from snellen.errors import InputError, OutputError
from snellen.frames.frame import Frame
from snellen.frames.step import Step
from snellen.video.ffmpeg import reason
from snellen.video.media import Item, MediaInfo
from snellen.video.progress import Meter
from snellen.video.sink.encode import Plan
from snellen.video.source.decode import Source
from snellen.video.threads import run_dry

_STORE = 8 << 30
"""Excerpts take at most so many bytes on the disk."""
_PART = 4
"""They take one of so many bytes that are free."""


class Excerpt:
    """Results of a step, of consecutive frames; `close` frees them.

    Parameters
    ----------
    plan : Plan
        Of the video stream.
    folder : Path
        Where their file is; it has no name there.

    Attributes
    ----------
    times : list of int
        Of the frames, in ticks of the output.
    scored : range
        Numbers of the frames that are scored; others are encoded before and after them.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        format = plan.format
        self._kind = np.dtype(np.uint8 if format.bits == 8 else np.uint16)
        self._shapes = format.shapes
        self._durations: list[int] = []
        self.times: list[int] = []
        self.scored = range(0)
        try:
            self._file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (`close`)
        except OSError as error:
            raise OutputError(f"{folder}: no file can be made there ({reason(error)})") from error

    def __len__(self) -> int:
        return len(self.times)

    def add(self, frame: Frame) -> None:
        """Keep a frame, whose planes are in host memory."""
        try:
            for plane in frame.planes:
                self._file.write(np.ascontiguousarray(plane).data)
        except OSError as error:
            raise OutputError(f"an excerpt could not be kept: {reason(error)}") from error
        self.times.append(frame.pts)
        self._durations.append(frame.duration)

    def frame(self, number: int) -> Frame:
        """Return a frame, its time counted from the first one's."""
        sizes = [self._kind.itemsize * height * width for height, width in self._shapes]
        self._file.seek(number * sum(sizes))
        planes = []
        for shape in self._shapes:
            plane = np.empty(shape, self._kind)
            self._file.readinto(plane.data)
            planes.append(plane)
        return Frame(tuple(planes), self.times[number] - self.times[0], self._durations[number])

    def frames(self) -> Iterator[Frame]:
        """Yield all frames."""
        return map(self.frame, range(len(self)))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def room(folder: Path) -> int:
    """Return the bytes that excerpts may take in a folder."""
    with suppress(OSError):
        return min(_STORE, shutil.disk_usage(folder).free // _PART)
    return _STORE


def bytes_of(plan: Plan) -> int:
    """Return the bytes of a frame that is kept."""
    size = 1 if plan.format.bits == 8 else 2
    return sum(size * height * width for height, width in plan.format.shapes)


def taken(
    info: MediaInfo,
    step: Step,
    plan: Plan,
    begin: Fraction,
    frames: int,
    margins: tuple[int, int],
    folder: Path,
    meter: Meter,
) -> Excerpt | None:
    """Send consecutive frames of a film through its step, and keep the results.

    Parameters
    ----------
    info : MediaInfo
        Of the input, a file.
    step : Step
        Prepared.
    plan : Plan
        Of the video stream.
    begin : Fraction
        Where the frames begin that are scored, in seconds of the output.
    frames : int
        Of the input, that are scored.
    margins : tuple of int
        Frames of the input before and after these.
    folder : Path
        Where they are kept.
    meter : Meter
        Counts the results.

    Returns
    -------
    Excerpt or None
        None: there are no frames, since the film is shorter than it says.
    """
    assert info.path is not None
    clip, reach = info.clip, step.traits.reach or 0
    first = max(Fraction(0), begin - margins[0] / info.rate)
    early = max(Fraction(0), first - reach / info.rate)
    start = None if clip.start is None and early == 0 else (clip.start or 0) + early
    many = round((begin - early) * info.rate) + frames + margins[1] + reach
    duration = None if clip.duration is None else clip.duration - early
    if duration is not None and duration <= 0:
        return None
    if clip.frames is not None:  # what is behind them does not exist for the film
        many = min(many, max(1, clip.frames - round(early * info.rate)))
    part = replace(clip, start=start, duration=duration, frames=many)
    try:
        source = Source(
            info.path, part, info.decoder, looked=True, content=info.content, given=info.decoded
        )
    except InputError as error:
        if error.parameter not in ("start", "duration"):
            raise
        return None
    found = Excerpt(plan, folder)
    try:
        with closing(source):
            shift = (source.info.zero - info.zero) / info.time_base
            given = round((begin - first) * info.rate) + frames + margins[1]
            most = round(given * step.traits.rate)
            least = first / plan.time_base if first else None

            def read() -> Iterator[Item]:
                for item in source.items():
                    if item.frame is not None:  # results may depend on its time in the film
                        time = round(item.frame.pts + shift)
                        item = replace(item, frame=replace(item.frame, pts=time))
                    yield item

            def take(frame: Frame) -> None:
                if len(found) < max(1, most) and (least is None or frame.pts >= least):
                    found.add(frame)

            step.restart()
            run_dry(source, step, meter, read, take)
            step.restart()  # the film is next
    except BaseException:
        found.close()
        raise
    if not len(found):
        found.close()
        return None
    later = (number for number, time in enumerate(found.times) if time * plan.time_base >= begin)
    number = next(later, 0)
    found.scored = range(len(found))[number : number + max(1, round(frames * step.traits.rate))]
    return found
