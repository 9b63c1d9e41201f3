"""Which excerpts of a film are tried, and their frames as the encoder gets them.

They are kept in a file that no kill leaves behind.
"""

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
from snellen.frames.frame import Frame, Plane
from snellen.frames.step import Step
from snellen.video.ffmpeg import reason
from snellen.video.media import Item, MediaInfo
from snellen.video.progress import Meter
from snellen.video.sink.encode import Plan
from snellen.video.source.decode import Source
from snellen.video.threads import run_dry

SHORT = 180
"""Frames of a film up to which all of it is the excerpt."""
LENGTH = 30
"""Frames of an excerpt that are scored."""
BEFORE, AFTER = 10, 20
"""Frames that are encoded before and after these. Without them an excerpt is worse than the same
frames within a film, by 1 of VMAF: encoders look ahead (lab/target.md)."""
_LEAST, _MOST, _FOR_ONE = 3, 8, 150
"""Excerpts of a film: one for so many frames."""


def places(frames: int | None, room: int) -> tuple[int, tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the frames of an excerpt, and where the excerpts begin: of the probes, and others.

    Places are frames from the beginning, which need not be whole. Those of the probes are the
    middles of equal parts of the film, the others are between them: together they are evenly
    spaced. A short film is one excerpt, and of one whose `frames` are not known only the beginning
    is taken. No more than `room` frames can be kept.
    """
    if frames is None or frames <= SHORT:
        length = max(1, min(frames or SHORT, room))
        return length, (Fraction((frames or length) - length, 2),), ()
    fit = room // (BEFORE + LENGTH + AFTER)
    count = max(1, min(max(_LEAST, frames // _FOR_ONE), _MOST, fit))
    found = [
        Fraction(frames * number, 2 * count) - Fraction(LENGTH, 2) for number in range(1, 2 * count)
    ]
    return LENGTH, tuple(found[::2]), tuple(found[1::2])


def picked(numbers: range, most: int | None) -> tuple[int, ...]:
    """Return which of consecutive frames are scored, at most so many; None: all.

    They are evenly spaced, but for a part of the spacing: an even one might always meet the same
    kind of frame in the encoder's pattern.
    """
    count = len(numbers)
    if most is None or count <= most:
        return tuple(numbers)
    golden = 0.6180339887498949 if count >= 2 * most else 0.0  # else two could be the same
    return tuple(numbers[int((n + (n + 1) * golden % 1) * count / most)] for n in range(most))


_STORE = 8 << 30
"""Excerpts take at most so many bytes on the disk."""
_PART = 4
"""They take one of so many bytes that are free."""


class Excerpt:
    """Results of a step, of consecutive frames, in a file without a name; `close` frees them.

    `times` of the frames are in ticks of the output. Those frames are scored whose numbers are in
    `scored`; others are encoded before and after them.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._format = plan.format
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
        self._file.seek(number * self._format.nbytes)
        planes: list[Plane] = [np.empty(one, self._format.dtype) for one in self._format.shapes]
        for plane in planes:
            self._file.readinto(plane.data)
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
    """Send consecutive frames of a film, a file, through its prepared step, and keep the results.

    Those `frames` of the input are scored which begin at `begin`, in seconds of the output;
    `margins` are frames of the input before and after these. The `meter` counts the results. None:
    there are no frames, since the film is shorter than it says.
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
