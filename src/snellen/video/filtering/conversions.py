"""Changes of pixel formats in a chain of filters: what they lose, and how they are said."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.filtering.examine import Conversion


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
