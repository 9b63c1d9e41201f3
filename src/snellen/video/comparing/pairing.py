"""Frames of two videos in pairs: read side by side, and converted so that they can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy.typing as npt

from snellen.files.containers import Y4M
from snellen.frames.frame import Format, Plane
from snellen.metrics.colours import Picture
from snellen.video.clip import Clip
from snellen.video.comparing.colours import coding
from snellen.video.comparing.comparison import Comparison
from snellen.video.comparing.differences import sizes
from snellen.video.comparing.luma_reader import WHITE, Luma, LumaReader, grey
from snellen.video.comparing.resize import resize
from snellen.video.comparing.turning import applies, oriented
from snellen.video.media import MediaInfo
from snellen.video.messages import counted
from snellen.video.source.decode import Source
from snellen.video.source.headers import UNTIMED
from snellen.video.source.pictures import FORMAT
from snellen.video.source.stream_info import OWN_TIMES

_TIMELESS = frozenset((FORMAT, Y4M, *UNTIMED, *OWN_TIMES))
"""Containers whose frames have no times of their own."""
_NEAR = Fraction(1, 2)
"""A share of a frame: times that differ by less belong to the same one."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Pairs whose times disagree."""

    number: int
    """Number of the reference's frame in the first of them."""
    time: Fraction
    """Its time, seconds from the reference's beginning."""
    pairs: int
    """How many there are."""
    most: Fraction
    """Seconds by which they disagree at most."""

    def __str__(self) -> str:
        return (
            f"from frame {self.number} on, at {float(self.time):.3f} s, the times of "
            f"{counted(self.pairs, 'pair')} disagree, by up to {float(self.most):.3f} s: frames "
            "are paired by number, and one video lacks frames of the other one, or has another rate"
        )


class DriftMeter:
    """Compares the times of pairs, counted from those of the first frames with a partner.

    `found` is what disagrees so far; None: nothing.
    """

    def __init__(self, one: LumaReader, other: LumaReader) -> None:
        self.found: Drift | None = None
        self._sides = one, other
        first, second = one.source.info, other.source.info
        self._near = max(_NEAR / first.rate, first.time_base + second.time_base)
        self._blind = _is_timeless(first) or _is_timeless(second)

    def see(self, one: Luma, other: Luma) -> None:
        """Take the times of a pair."""
        begins = [side.begin for side in self._sides]
        if self._blind or begins[0] is None or begins[1] is None:
            return
        apart = abs((other.time - begins[1]) - (one.time - begins[0]))
        if apart < self._near:
            return
        found = self.found or Drift(one.number, one.time, 0, Fraction(0))
        self.found = replace(found, pairs=found.pairs + 1, most=max(found.most, apart))


def together(one: Drift | None, other: Drift | None) -> Drift | None:
    """Return what disagrees in two parts of a comparison, of which `one` comes first."""
    if one is None or other is None:
        return one or other
    return replace(one, pairs=one.pairs + other.pairs, most=max(one.most, other.most))


def _is_timeless(info: MediaInfo) -> bool:
    return info.container in _TIMELESS


Pair = tuple[Luma, Luma]
Sides = tuple[LumaReader, LumaReader]
"""Reference and distorted."""
Planes = tuple[Plane, ...]
Conversion = Callable[[Plane], npt.NDArray[Any]]
"""A conversion of a plane."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the pairs of two videos that are compared in parts, each by itself."""

    begin: int
    """The first pair of the part, of those that would be read of the whole: 0 is the first."""
    end: int | None
    """The first pair behind it; None: it reaches to the end."""
    is_last: bool
    """True: no other part follows."""


def sides_of(
    one: Source,
    other: Source,
    offset: int,
    every: int,
    part: Part | None = None,
    reach: int = 0,
    step: Comparison[Any] | None = None,
) -> Sides:
    """Return readers that begin at the first frames with a partner, and convert for the step.

    For a `step` that asks for them they give a Picture of each frame. InputError: films whose
    colours its metrics cannot take.
    """
    skipped = 0 if part is None else part.begin * every
    infos = one.info, other.info
    whole = step is not None and step.whole
    converts = greys(*infos) if whole else conversions(*infos)
    wholes = pictures(*infos, step.colours) if step is not None and whole else (None, None)
    first, second = max(0, -offset), max(0, offset)
    return (
        LumaReader(one, first + skipped, every, first, converts[0], reach, wholes[0]),
        LumaReader(other, second + skipped, every, second, converts[1], reach, wholes[1]),
    )


def _shaping(
    info: MediaInfo, turned: bool, size: tuple[int, int], target: tuple[int, int]
) -> Conversion:
    steps: list[Callable[[Any], Any]] = []
    if turned:
        steps.append(partial(oriented, matrix=info.picture.display_matrix))
    if size != target:
        bits = info.picture.format.bits
        steps.append(partial(resize, bits=bits, width=target[0], height=target[1]))
    return _all(steps)


def pictures(
    one: MediaInfo, other: MediaInfo, metrics: str
) -> tuple[Callable[[Planes], Picture], Callable[[Planes], Picture]]:
    """Return what makes Pictures, of the size that they are compared in, of frames of two videos.

    InputError: videos whose colours `metrics` cannot take; empty: any will do.
    """
    turned, (target, second) = applies(one, other), sizes(one, other)

    def whole(info: MediaInfo, size: tuple[int, int]) -> Callable[[Planes], Picture]:
        coded = coding(info.picture, info.name, metrics, turned)
        format = replace(coded.format, width=target[0], height=target[1])
        coded = replace(coded, format=format)
        luma = _shaping(info, turned, size, target)
        chroma = luma
        if len(format.shapes) > 1:
            height, width = format.shapes[1]
            was = replace(format, width=size[0], height=size[1]).shapes[1]
            chroma = _shaping(info, turned, (was[1], was[0]), (width, height))
        return lambda planes: Picture((luma(planes[0]), *map(chroma, planes[1:])), coded)

    return whole(one, target), whole(other, second)


def conversions(one: MediaInfo, other: MediaInfo) -> tuple[Conversion, Conversion]:
    """Return what is done with the planes of two videos, so that they can be compared.

    They are turned by their tags where `applies` says so, and scaled to the size of the first.
    """
    turned, (target, second) = applies(one, other), sizes(one, other)
    first_grey, second_grey = greys(one, other)
    return (
        _all([_shaping(one, turned, target, target), first_grey]),
        _all([_shaping(other, turned, second, target), second_grey]),
    )


def greys(one: MediaInfo, other: MediaInfo) -> tuple[Conversion, Conversion]:
    """Return what brings the luma of two videos of different depths to one scale."""
    first, second = (info.picture.format.bits for info in (one, other))
    if first == second:
        return _all([]), _all([])
    return partial(grey, bits=first), partial(grey, bits=second)


def _all(steps: Sequence[Callable[[Any], Any]]) -> Conversion:
    def convert(plane: Plane) -> npt.NDArray[Any]:
        for step in steps:
            plane = step(plane)
        return plane

    return convert


def format_of(one: MediaInfo, other: MediaInfo) -> Format:
    """Return the format of the planes of two videos that are compared."""
    width, height = sizes(one, other)[0]
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
    """Frames of the clip, or of a part of it, with their partners; `see` gets those around them.

    There were `count` pairs so far, and a video may have `ended` before the clip.
    """

    def __init__(
        self,
        sides: Sides,
        clip: Clip,
        part: Part | None = None,
        see: Callable[[Luma, Luma], None] | None = None,
    ) -> None:
        self.count, self._see = 0, see
        self.ended = False
        self._sides = sides
        self._clip = clip
        self._meter = DriftMeter(*sides)
        self._most = None if part is None or part.end is None else part.end - part.begin

    @property
    def drift(self) -> Drift | None:
        """Pairs so far whose times disagree; None: there are none."""
        return self._meter.found

    def __iter__(self) -> Iterator[Pair]:
        start, duration = self._clip.start or Fraction(0), self._clip.duration
        for read, (one, other) in enumerate(zip(*self._sides), 1):  # noqa: B905 (one may end first)
            if duration is not None and one.time >= start + duration:
                return
            if one.time >= start and not self._sides[0].takes(one.number):
                assert self._see is not None
                self._see(one, other)
            elif one.time >= start:
                self.count += 1
                self._meter.see(one, other)
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
