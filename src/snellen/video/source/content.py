"""Finds out by content whether a film's pictures are interlaced, telecined or progressive.

Many films are progressive although they are marked as interlaced: every 25p or 30p programme that
was made for interlaced television ("progressive segmented frames"). FFmpeg's idet tells, for each
frame, which field is nearer to the frames around it, and whether a field repeats that of the frame
before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video.filtering.graph import Filter
from snellen.video.media import Content
from snellen.video.opening import video_of
from snellen.video.source.filters import graph_of
from snellen.video.source.places import frames_of, sought
from snellen.video.timestamps import fraction

_PLACES, _FRAMES = 6, 40
"""Places of the film that are looked at, equally far from one another, and the frames of each:
eight cycles of telecine."""
_FEWER_PLACES, _FEWER_FRAMES = 3, 16
"""Numbers for a film that gives no reason to look."""
_RASTERS = frozenset({480, 486, 512, 576, 608, 1080, 1088})
"""Rows of interlaced television."""
_FASTEST = 30
"""Frames a second that it has at most."""
_LEAST = 8
"""Frames that idet must have decided, in all places together."""
_FEW, _CLEAR = 0.03, 0.1
"""Shares of frames: progressive where at most so few look interlaced, and so many progressive."""
_CYCLE, _LATER = 5, 2
"""Telecine repeats a field in two of five frames, the second one two frames after the first."""
_REGULAR = 0.85
"""Share of repeated fields that must keep this cycle."""
_REPEATS = 0.3
"""Repeated fields for each frame that looks interlaced, at least; without gaps they are 0.5."""

_SINGLE, _REPEATED = "lavfi.idet.single.current_frame", "lavfi.idet.repeated.current_frame"

INTERLACED, TELECINED, PROGRESSIVE, UNCERTAIN = (
    "interlaced", "telecined", "progressive", "uncertain",
)  # fmt: skip


class Label(NamedTuple):
    """A frame's kind, as idet says."""

    kind: str
    """"tff", "bff" (the field that is first), "progressive" or "undetermined"."""
    repeats: bool
    """True: a field is that of the frame before."""


def unmarked_content(
    path: Path, what: str, rows: int, rate: Fraction, maps: Sequence[str] = ()
) -> Content | None:
    """Look at a film without marks, if its rows and frames a second are those of interlaced TV.

    None: it gives no reason to look, or at a first look none to look closely.
    """
    if rows not in _RASTERS or rate > _FASTEST:
        return None
    first = content_of(path, what, maps, _FEWER_PLACES, _FEWER_FRAMES)
    return content_of(path, what, maps) if first.interlaced > first.progressive else None


def content_of(
    path: Path,
    what: str,
    maps: Sequence[str] = (),
    places_of_it: int = _PLACES,
    frames_of_each: int = _FRAMES,
) -> Content:
    """Look at frames from several places of a film, which is opened once more.

    `what` is its name in messages, `maps` are those of `choose_stream`.
    """
    places: list[list[Label]] = []
    with video_of(path, what, maps) as (container, stream):
        seen: set[int | None] = set()
        for place in range(places_of_it):
            at = (container.duration or 0) * Fraction(place, places_of_it)
            if place and not (at and sought(container, at)):
                break
            frames = list(islice(frames_of(container, stream), frames_of_each))
            if frames and frames[0].pts not in seen:
                seen.update(frame.pts for frame in frames)
                places.append(_labels(stream, frames))
    return judged(places)


def judged(places: Sequence[Sequence[Label]]) -> Content:
    """Return what labels of consecutive frames, from several places, mean together."""
    all_of_them = [label for labels in places for label in labels]
    count = Counter(label.kind for label in all_of_them)
    interlaced, progressive = count["tff"] + count["bff"], count["progressive"]
    kind = INTERLACED
    if interlaced + progressive < _LEAST:
        kind = UNCERTAIN
    elif _is_telecined(places, interlaced):
        kind = TELECINED
    elif interlaced <= _FEW * len(all_of_them) and not any(map(_mostly_interlaced, places)):
        enough = progressive >= _CLEAR * len(all_of_them)
        kind = PROGRESSIVE if enough else UNCERTAIN
    first = "top" if count["tff"] >= count["bff"] else "bottom"
    return Content(kind, interlaced, progressive, len(all_of_them), first if interlaced else None)


def _mostly_interlaced(labels: Sequence[Label]) -> bool:
    interlaced = sum(label.kind in ("tff", "bff") for label in labels)
    return interlaced * 2 > sum(label.kind != "undetermined" for label in labels)


def _is_telecined(places: Sequence[Sequence[Label]], interlaced: int) -> bool:
    regular = repeated = 0
    for labels in places:
        phases = [0] * _CYCLE
        for number, label in enumerate(labels):
            phases[number % _CYCLE] += label.repeats
        repeated += sum(phases)
        regular += max(phases[n] + phases[(n + _LATER) % _CYCLE] for n in range(_CYCLE))
    enough = repeated >= max(_LEAST, _REPEATS * interlaced)
    return interlaced > 0 and enough and regular >= _REGULAR * repeated


def _labels(stream: VideoStream, frames: Sequence[VideoFrame]) -> list[Label]:
    """Return what idet says of consecutive frames; up to a change of their format."""
    base = fraction(stream.time_base) or Fraction(1, 1000)
    graph = graph_of([Filter("idet")], stream, frames[0], base)
    labels = []
    alike = takewhile(lambda one: _format(one) == _format(frames[0]), frames)
    for frame in (*alike, None):
        for found, _ in graph.push(frame):
            about = found.metadata
            repeats = about.get(_REPEATED, "neither") != "neither"
            labels.append(Label(about.get(_SINGLE, "undetermined"), repeats))
    return labels


def _format(frame: VideoFrame) -> tuple[str, int, int]:
    return frame.format.name, frame.width, frame.height
