"""Encodes an excerpt and decodes it again, and pairs decoded frames with those of an excerpt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import av

from snellen.errors import InputError, OutputError
from snellen.frames.frame import Format, Plane
from snellen.metrics.colours import Picture
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.comparing.colours import coding
from snellen.video.progress import Meter
from snellen.video.quality.excerpts import Excerpt
from snellen.video.quality.values import Measure, Pair
from snellen.video.sink.encode import Plan, add_video, open_container, rehearsed
from snellen.video.sink.sink import Converter, FrameEncoder
from snellen.video.source.decode import Source

_MUXER, _SUFFIX = "matroska", ".mkv"
"""Container of the encoded excerpt: it holds what any encoder gives."""


View = Callable[[tuple[Plane, ...]], Any]
"""Makes of the planes of a frame what a metric takes."""
_BT709 = 1
"""AVCOL_SPC."""


@dataclass(frozen=True, slots=True)
class FilmClock:
    """The clock of a finished film, in seconds."""

    start: Fraction
    """The time at which its contents begin."""
    zero: Fraction
    """Time 0 of the frames that its encoder got."""


def clock_of(file: Path, first: Fraction) -> FilmClock:
    """Return the clock of a film whose first frame has a time of the output, in seconds."""
    with closing(Source(file, Clip(frames=1, interlaced="ignore"), looked=True)) as source:
        item, info = next(source.items()), source.info
        assert item.frame is not None
        return FilmClock(info.zero, info.zero + item.frame.pts * info.time_base - first)


def format_of(plan: Plan, whole: bool) -> Format:
    """Return the format of luma, or of all planes, as the encoder gets them."""
    subsampling = plan.encoder.pixels.subsampling if whole else None
    return Format(plan.format.width, plan.format.height, plan.encoder.bits, subsampling)


def view_of(plan: Plan, name: str, target: str, measure: Measure) -> View:
    """Return what makes of planes, as the encoder gets them, what a metric takes.

    InputError, about the film `name` and the parameter `target`: colours that the metric cannot
    take.
    """
    if measure.whole:
        return lambda planes: planes
    if not measure.colours:
        return lambda planes: planes[0]
    taken, picture = plan.encoder.pixels, plan.picture
    format = replace(plan.format, bits=plan.encoder.bits, subsampling=taken.subsampling)
    if taken.rgb:  # which `pixels.planes` converts
        picture = replace(picture, colorspace=_BT709)
        format = replace(format, full_range=False)
    try:
        coded = coding(replace(picture, format=format), name, measure.colours)
    except InputError as error:
        raise InputError(str(error), parameter=target, advice="give `crf` instead") from None
    return lambda planes: Picture(planes, coded).linear()


def encoded(excerpt: Excerpt, plan: Plan, threads: int, meter: Meter) -> tuple[BytesIO, int]:
    """Return the excerpt as a film in memory, and the bytes of its packets."""
    memory = BytesIO()
    out = open_container(memory, _MUXER, plan.time_base)
    try:
        stream = add_video(out, rehearsed(plan), _SUFFIX, threads)
        encoder = FrameEncoder(stream, plan)
        size = 0
        out.start_encoding()
        for frame in excerpt.frames():
            for packet in encoder.encode(frame):
                size += packet.size
                out.mux(packet)
            meter.count()
        for packet in encoder.flush():
            size += packet.size
            out.mux(packet)
    finally:
        out.close()
    memory.seek(0)
    return memory, size


def pairs(
    film: BytesIO, excerpt: Excerpt, plan: Plan, numbers: Container[int], view: View
) -> Iterator[Pair]:
    """Yield some frames of an excerpt, each with the decoded one, in their order."""
    made = Converter(plan)
    count = 0
    with av.open(film, "r") as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for frame in container.decode(stream):
            if count in numbers:
                yield view(_planes(made, excerpt, count)), view(pixels.planes(frame))
            count += 1
    if count != len(excerpt):
        raise OutputError(
            f"{plan.encoder.codec} made {count} frames of an excerpt of {len(excerpt)}"
        )


def identical_pairs(
    excerpt: Excerpt, plan: Plan, numbers: Iterable[int], view: View
) -> Iterator[Pair]:
    """Yield some frames of an excerpt, each with itself."""
    made = Converter(plan)
    for number in numbers:
        seen = view(_planes(made, excerpt, number))
        yield seen, seen


def finished_pairs(
    film: Path,
    clock: FilmClock,
    excerpt: Excerpt,
    plan: Plan,
    numbers: Container[int],
    view: View,
) -> Iterator[Pair]:
    """Yield some frames of an excerpt, each with that of the finished film at this time.

    `numbers` that the film does not have are left out.
    """
    times = [time * plan.time_base for time in excerpt.times]
    half = 1 / (2 * plan.rate)
    start = times[0] - half + clock.zero - clock.start
    clip = Clip(start if start > 0 else None, frames=len(excerpt) + 2, interlaced="ignore")
    made = Converter(plan)
    with closing(Source(film, clip, looked=True)) as source:
        zero = source.info.zero - clock.zero
        for item in source.items():
            if item.frame is None:
                continue
            time = zero + item.frame.pts * source.info.time_base
            place = bisect_left(times, time - half)
            if place < len(times) and times[place] < time + half and place in numbers:
                yield view(_planes(made, excerpt, place)), view(item.frame.planes)


def _planes(made: Converter, excerpt: Excerpt, number: int) -> tuple[Plane, ...]:
    return pixels.planes(made.picture(excerpt.frame(number)))
