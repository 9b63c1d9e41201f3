"""Changes of pixel formats in a chain of filters: what they lose, and how they are said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.filtering.examine import Conversion
from snellen.video.filtering.graph import Filter
from snellen.video.hdr import HDR_TRANSFERS, Light
from snellen.video.media import PictureInfo


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
