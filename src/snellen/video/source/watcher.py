"""Watches on every frame what a frame can lose or change, against the first one of its film."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, ColorTrc
from av.video.stream import VideoStream

from snellen.video import pixels, side_data
from snellen.video.ffmpeg import BT709, FULL_RANGE, LIMITED_RANGE, UNSPECIFIED, first_stated
from snellen.video.filtering.examine import MATRICES
from snellen.video.media import Change, PictureInfo
from snellen.video.side_data import Light, SideData, SideDataReader
from snellen.video.source.recolour import Coding, Recolour, recolour
from snellen.video.timestamps import fraction

_SAME_MATRIX = {6: 5}
_SAME_PRIMARIES = {7: 6}
_SAME_TRANSFER = {6: 1, 14: 1, 15: 1}
"""Numbers of AVCOL_SPC, AVCOL_PRI and AVCOL_TRC that mean the same as another one."""
_MATRICES = {number: name for name, number in MATRICES.items()}
_PRIMARIES = {int(one): one.name.lower() for one in ColorPrimaries}
_TRANSFERS = {int(one): one.name.lower() for one in ColorTrc}
_LIGHT = "HDR10 light levels (mastering display, MaxCLL)"
_LIGHT_KINDS = {"MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL"}
_UNKNOWN = Fraction(0)
"""A change's time, until it is asked for."""
_STATES = 1000
"""Kinds of frames that are remembered at once."""


@dataclass(frozen=True, slots=True)
class Colours:
    """AVCOL_* numbers of a frame; an unspecified one stays unspecified."""

    range: int
    matrix: int
    primaries: int
    transfer: int


def colours_of(stream: VideoStream, frame: VideoFrame) -> Colours:
    """Return the colours of a frame, or what its stream states of those that it does not."""
    layout, context = pixels.parse(frame.format.name), stream.codec_context
    # FFmpeg's decoder of H.264 keeps a format of full range where only the range changes.
    usual = FULL_RANGE if layout.full_range else int(context.color_range)
    range = int(frame.color_range) or usual
    matrix = first_stated(frame.colorspace, context.colorspace)
    if layout.rgb:  # as `pixels.planes` converts it
        range, matrix = LIMITED_RANGE, BT709
    elif layout.subsampling is None and matrix == MATRICES["gbr"]:
        matrix = UNSPECIFIED  # as PNG's decoder says of grey, too
    return Colours(
        range, matrix,
        first_stated(frame.color_primaries, context.color_primaries),
        first_stated(frame.color_trc, context.color_trc),
    )  # fmt: skip


class Watcher:
    """Compares each frame of a clip with the film's first one; whoever needs it asks at the end.

    A frame that is as one before costs a comparison of a few numbers.
    """

    def __init__(self, stream: VideoStream, picture: PictureInfo, side: SideDataReader) -> None:
        self._stream, self._picture, self._side = stream, picture, side
        self._states: dict[Any, Recolour | None] = {}
        self._found: dict[Change, int] = {}

    def see(self, frame: VideoFrame, ticks: int) -> Recolour | None:
        """Note what is otherwise from time `ticks` on; return what converts the frame's samples.

        None: they are as those of the first frame, or cannot be converted.
        """
        data, aspect = self._side(frame), self._stream.codec_context.sample_aspect_ratio
        state = (
            frame.color_range, frame.colorspace, frame.color_primaries, frame.color_trc,
            frame.format.name, frame.key_frame, aspect, *data.items(),
        )  # fmt: skip
        if state not in self._states:
            if len(self._states) == _STATES:
                self._states.clear()
            convert, found = self._coloured(colours_of(self._stream, frame))
            found += self._shaped(frame.key_frame, data, fraction(aspect))
            found += self._lost(data)
            for one in found:
                self._found.setdefault(one, ticks)
            self._states[state] = convert
        return self._states[state]

    def changes(self, time_base: Fraction, zero: Fraction) -> tuple[Change, ...]:
        """Return what was seen so far, in the order in which it began.

        Ticks of `time_base` seconds are counted so that `zero` seconds become 0.
        """
        return tuple(
            replace(one, since=ticks * time_base - zero) for one, ticks in self._found.items()
        )

    def _coloured(self, colours: Colours) -> tuple[Recolour | None, list[Change]]:
        """Return what converts samples of these colours, and how they differ."""
        picture = self._picture
        form = picture.format
        full = colours.range == FULL_RANGE
        given = Coding(_SAME_MATRIX.get(colours.matrix, colours.matrix), full)
        matrix = _SAME_MATRIX.get(picture.colorspace, picture.colorspace)
        wanted = Coding(matrix, form.full_range)
        grey = form.subsampling is None
        found, convert = [], None
        if given.full != wanted.full or not (grey or given.matrix == wanted.matrix):
            convert = recolour(given, wanted, form)
            done = "are converted" if convert else "are not converted, and are shown wrongly"
            if given.full != wanted.full:
                ranges = ("limited", "full")
                what = f"{ranges[given.full]} range instead of {ranges[wanted.full]} range"
                found.append(_change(f"{what}: they {done}", not convert))
            if not grey and given.matrix != wanted.matrix:
                what = _instead(_MATRICES, colours.matrix, picture.colorspace)
                found.append(_change(f"the colour matrix {what}: they {done}", not convert))
        for word, names, same, one, first in (
            ("colour primaries", _PRIMARIES, _SAME_PRIMARIES,
             colours.primaries, picture.color_primaries),
            ("transfer function", _TRANSFERS, _SAME_TRANSFER, colours.transfer, picture.color_trc),
        ):  # fmt: skip
            if same.get(one, one) != same.get(first, first):
                what = f"the {word} {_instead(names, one, first)}"
                found.append(_change(f"{what}: they are not converted, and are shown wrongly"))
        return convert, found

    def _shaped(self, key: bool, data: SideData, aspect: Fraction | None) -> list[Change]:
        """Return how a frame is otherwise to be shown."""
        picture, found = self._picture, []
        shown = picture.sample_aspect_ratio or Fraction(1)
        if aspect is not None and aspect not in (picture.coded_aspect_ratio, shown):
            what = f"the sample aspect ratio {_ratio(aspect)}, and are shown with {_ratio(shown)}"
            found.append(_change(what, samples=False))
        # What is stated inside the pictures may be so in key frames only.
        stated = "DISPLAYMATRIX" in data or key
        if stated and side_data.display_matrix(data) != picture.display_matrix:
            found.append(_change("another rotation, and are shown with that of the first one"))
        return found

    def _lost(self, data: SideData) -> list[Change]:
        """Return what a frame carries and the output will not, unlike the first one."""
        lost = [one for one in side_data.losses(data) if one not in self._picture.losses]
        first = self._picture.light
        if _LIGHT_KINDS & data.keys():
            light = side_data.light(data, self._stream.codec_context)
            if _differs(light, first):
                lost.append(f"{'other ' if first else ''}{_LIGHT} are lost")
        return [Change(text, _UNKNOWN, lost=True, samples=False) for text in lost]


def _change(what: str, lost: bool = True, samples: bool = True) -> Change:
    return Change(f"the pictures have {what}", _UNKNOWN, lost, samples)


def _instead(names: Mapping[int, str], one: int, first: int) -> str:
    return f"{names.get(one, one)} instead of {names.get(first, first)}"


def _ratio(value: Fraction) -> str:
    return f"{value.numerator}:{value.denominator}"


def _differs(light: Light, first: Light) -> bool:
    """Return whether something is stated that the first frame did not state so."""
    pairs = (
        (light.primaries, first.primaries),
        (light.luminance, first.luminance),
        (light.levels, first.levels),
    )
    return any(bool(one) and one != before for one, before in pairs)
