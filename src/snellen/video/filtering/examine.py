"""The effect of a chain of FFmpeg's filters on pictures, known before the first frame.

A graph is set up that sees no frame and writes no file. FFmpeg logs every conversion of pixel
formats that it inserts, and two filters at the end of the chain log what comes out of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.ffmpeg import UNSPECIFIED
from snellen.video.filtering.graph import Filter, configured
from snellen.video.filtering.side_files import silent
from snellen.video.media import PictureInfo
from snellen.video.side_data import HDR_TRANSFERS, Light

MATRICES = {
    "gbr": 0, "bt709": 1, "unknown": UNSPECIFIED, "fcc": 4, "bt470bg": 5, "smpte170m": 6,
    "smpte240m": 7, "ycgco": 8, "bt2020nc": 9, "bt2020c": 10, "smpte2085": 11,
    "chroma-derived-nc": 12, "chroma-derived-c": 13, "ictcp": 14, "ipt-c2": 15, "ycgco-re": 16,
    "ycgco-ro": 17,
}  # fmt: skip
"""AVCOL_SPC by FFmpeg's names."""
RANGES = {"unknown": 0, "tv": 1, "pc": 2}
"""AVCOL_RANGE by FFmpeg's names."""
_END = "snellen_end"
_SIDE = r"w:(\d+) h:(\d+) fmt:(\S+) csp:(\S+) range:(\S+) sar:(\d+)/(\d+)"
_CONVERSION = re.compile(rf"{_SIDE} -> {_SIDE}")
_CLOCK = re.compile(r"config in time_base: (\d+)/(\d+), frame_rate: (-?\d+)/(-?\d+)")
_BETWEEN = re.compile(r"auto-inserting filter '(.+)' between the filter '.+' and the filter '(.+)'")


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of pictures between two filters."""

    width: int
    height: int
    pixel_format: str
    colorspace: int
    color_range: int
    """AVCOL_* numbers."""
    aspect: Fraction | None
    """Width by height of a sample; None: not known."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A change of the pixel format in a chain."""

    before: str
    after: str
    by: str
    """The filter that asks for it, or makes it."""
    place: int | None
    """Place of the filter before which FFmpeg inserts it; None: a filter of the chain makes it."""


@dataclass(frozen=True, slots=True)
class Examined:
    """The pictures that come out of a chain, and what it does to the pixels."""

    shape: Shape
    time_base: Fraction
    rate: Fraction | None
    """Frames a second; None: not constant, or not known."""
    conversions: tuple[Conversion, ...]


def properties(
    picture: PictureInfo, pixel_format: str, time_base: Fraction, rate: Fraction
) -> dict[str, str]:
    """Return the options of FFmpeg's buffer source for pictures."""
    aspect = picture.sample_aspect_ratio or Fraction(1)
    rate = rate.limit_denominator(1_000_000)
    return {
        "video_size": f"{picture.format.width}x{picture.format.height}",
        "pix_fmt": pixel_format,
        "time_base": f"{time_base.numerator}/{time_base.denominator}",
        "pixel_aspect": f"{aspect.numerator}/{aspect.denominator}",
        "colorspace": str(picture.colorspace),
        "range": str(picture.color_range),
        "frame_rate": f"{rate.numerator}/{rate.denominator}",
    }


def examine(filters: Sequence[Filter], source: Mapping[str, str], parameter: str) -> Examined:
    """Return what a chain makes of pictures (InputError, about `parameter`: FFmpeg refuses it).

    `source` has options of FFmpeg's buffer source.
    """
    ends = (Filter.of("showinfo", checksum=0), Filter("scale", instance=_END))
    _, messages = configured((*silent(filters), *ends), source, parameter)
    names = instances(filters)
    asking: dict[str, str] = {}
    shape = clock = None
    conversions: list[Conversion] = []
    for _, name, text in messages:
        if found := _BETWEEN.search(text):
            asking[found[1]] = found[2]
        elif (found := _CLOCK.search(text)) and name.startswith("showinfo"):
            clock = found
        elif found := _CONVERSION.search(text):
            if name == _END:
                shape = _shape(found.groups()[7:])
            elif found[3] != found[10]:
                place = names.index(asking[name]) if asking.get(name) in names else None
                by = name if place is None else filters[place].name
                conversions.append(Conversion(found[3], found[10], by, place))
    if shape is None or clock is None:
        raise InputError("FFmpeg does not say what these filters give", parameter=parameter)
    up, down = int(clock[3]), int(clock[4])
    if not int(clock[2]):  # as of fps=\0, which FFmpeg takes
        raise InputError("these filters give frames without times", parameter=parameter)
    return Examined(
        shape, Fraction(int(clock[1]), int(clock[2])),
        Fraction(up, down) if up > 0 and down > 0 else None, tuple(conversions),
    )  # fmt: skip


def instances(filters: Sequence[Filter]) -> list[str]:
    """Return what PyAV calls the filters of a graph, in which each name is there once."""
    names: list[str] = []
    counts: dict[str, int] = {}
    for one in filters:
        name = one.instance or one.name
        counts[name] = counts.get(name, -1) + 1
        names.append(f"{name}_{counts[name]}" if counts[name] else name)
    return names


def _shape(words: Sequence[str]) -> Shape:
    up, down = int(words[5]), int(words[6])
    return Shape(
        int(words[0]), int(words[1]), words[2], MATRICES.get(words[3], UNSPECIFIED),
        RANGES.get(words[4], 0), Fraction(up, down) if up and down else None,
    )  # fmt: skip


def labelled(title: str, conversions: Sequence[Conversion]) -> str:
    """Return what the printed chain calls a step, with the pixel formats on the way."""
    way = [one.before for one in conversions[:1]] + [one.after for one in conversions]
    return f"{title} ({' → '.join(way)})" if way else title


def lost(conversions: Sequence[Conversion], given: Format, parameter: str) -> tuple[str, ...]:
    """Return what frames of a format lose on the way; `parameter` is the option that asks for it.

    Each is said once.
    """
    found = []
    for one in conversions:
        before, layout = pixels.parse(one.before), pixels.parse(one.after)
        if layout.bits < given.bits:
            found.append(
                f"{one.by} of `{parameter}` works on {layout.bits} bits ({one.after}): "
                f"the others of {given.bits} are lost"
            )
        loses = before.subsampling is not None and layout.subsampling is None
        if given.subsampling is not None and loses and one.by != "format":
            found.append(f"{one.by} of `{parameter}` makes the pictures grey")
    return tuple(dict.fromkeys(found))


def through_rgb(conversions: Sequence[Conversion]) -> bool:
    """Return whether YUV becomes RGB, or the other way round."""
    return any(pixels.parse(one.before).rgb != pixels.parse(one.after).rgb for one in conversions)


def lit(filters: Sequence[Filter], given: PictureInfo, made: PictureInfo) -> PictureInfo:
    """Return the description without HDR10's light levels where they are not those of results.

    FFmpeg's `tonemap` leaves them, and so does a filter that only states another transfer.
    """
    still = made.color_trc == given.color_trc and not _maps_tones(filters)
    return made if still else replace(made, light=Light())


def darkened(
    filters: Sequence[Filter], given: PictureInfo, made: PictureInfo, parameter: str
) -> tuple[str, ...]:
    """Return what is to be said of light levels and transfer behind a filter that maps tones."""
    notes = []
    if given.light and not made.light:
        notes.append(
            f"behind `{parameter}` the HDR10 light levels (mastering display, MaxCLL) of the input "
            "are left out: they do not describe the result"
        )
    if _maps_tones(filters) and made.color_trc in HDR_TRANSFERS:
        notes.append(
            f"`{parameter}` maps tones, but its pictures are still stated as HDR: "
            "setparams=color_trc=bt709 (or another transfer) behind tonemap states what they are"
        )
    return tuple(notes)


def _maps_tones(filters: Sequence[Filter]) -> bool:
    return any(one.name == "tonemap" for one in filters)
