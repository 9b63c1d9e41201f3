"""Frames of two videos in pairs: read side by side, and converted so that they can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy.typing as npt

from snellen.frames.frame import Format, Plane
from snellen.video.clip import Clip
from snellen.video.differences import size
from snellen.video.luma_reader import WHITE, Luma, LumaReader, grey
from snellen.video.media import MediaInfo
from snellen.video.resize import resize
from snellen.video.source.decode import Source

Pair = tuple[Luma, Luma]
Sides = tuple[LumaReader, LumaReader]
"""Reference and distorted."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the pairs of two videos that are compared in parts, each by itself."""

    begin: int
    """The first pair of the part, of those that would be read of the whole: 0 is the first."""
    end: int | None
    """The first pair behind it; None: it reaches to the end."""
    is_last: bool
    """Whether no other part follows."""


def sides_of(
    one: Source, other: Source, offset: int, every: int, part: Part | None = None
) -> Sides:
    """Return readers that begin at the first frames with a partner, and convert for the step."""
    first = 0 if part is None else part.begin * every
    return (
        LumaReader(one, max(0, -offset) + first, every, conversion(one.info, one.info, other.info)),
        LumaReader(
            other, max(0, offset) + first, every, conversion(other.info, one.info, one.info)
        ),
    )


def conversion(
    info: MediaInfo, reference: MediaInfo, partner: MediaInfo
) -> Callable[[Plane], npt.NDArray[Any]] | None:
    """Return what is done with a video's planes, so that they can be compared; None: nothing.

    They get the size of the reference; `partner` is the other video of the two.
    """
    bits, target = info.picture.format.bits, size(reference)
    same_depth = bits == partner.picture.format.bits
    if size(info) == target:
        return None if same_depth else partial(grey, bits=bits)
    if same_depth:
        return partial(resize, bits=bits, width=target[0], height=target[1])
    return lambda plane: grey(resize(plane, bits, *target), bits)


def format_of(one: MediaInfo, other: MediaInfo) -> Format:
    """Return the format of the planes of two videos that are compared."""
    width, height = size(one)
    bits = one.picture.format.bits
    if bits == other.picture.format.bits:
        return Format(width, height, bits)
    return Format(width, height, 0, white=WHITE)


@contextmanager
def reading(sides: Sides) -> Iterator[None]:
    """Decode both videos in threads, which have ended after the block."""
    try:
        for side in sides:
            side.start()
        yield
    finally:
        for side in sides:
            side.stop()
        for side in sides:  # a second Ctrl-C ends this, but by now both threads are stopping
            side.abandon()


class Pairs:
    """Frames of the clip, or of a part of it, with their partners.

    Attributes
    ----------
    count : int
        Pairs so far.
    ended : bool
        Whether a video ended before the clip.
    """

    def __init__(self, sides: Sides, clip: Clip, part: Part | None = None) -> None:
        self.count = 0
        self.ended = False
        self._sides = sides
        self._clip = clip
        self._most = None if part is None or part.end is None else part.end - part.begin

    def __iter__(self) -> Iterator[Pair]:
        start, duration = self._clip.start or Fraction(0), self._clip.duration
        for read, (one, other) in enumerate(zip(*self._sides), 1):  # noqa: B905 (one may end first)
            if duration is not None and one.time >= start + duration:
                return
            if one.time >= start:
                self.count += 1
                yield one, other
            if read == self._most or (self.count and self.count == self._clip.frames):
                return
        self.ended = True


def expected(sides: Sides, clip: Clip, every: int) -> int | None:
    """Return how many pairs to expect; None: unknown."""
    totals = [(side.source.info.frames, side.first) for side in sides]
    known = [total - first for total, first in totals if total is not None]
    rate = sides[0].source.info.rate
    if known and clip.start is not None:
        known = [min(known) - int(clip.start * rate)]
    if clip.duration is not None:
        known.append(round(clip.duration * rate))
    pairs = [max(1, -(-frames // every)) for frames in known]
    return min([*pairs, *([] if clip.frames is None else [clip.frames])], default=None)
