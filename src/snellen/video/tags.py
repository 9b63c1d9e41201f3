"""Tags and chapters: what is said about the film as a whole."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from snellen.video.decode import Source
from snellen.video.times import fraction

_TECHNICAL = {
    *("major_brand", "minor_version", "compatible_brands", "encoder", "duration"),
    *("handler_name", "vendor_id", "rotate", "alpha_mode"),
    *("bps", "number_of_frames", "number_of_bytes", "source_id"),
}
"""Tags that describe the old file or the old coding, not the film."""


def tags(metadata: dict[str, str]) -> dict[str, str]:
    """Return the tags that stay true of a file with other pictures in it."""
    return {
        key: value
        for key, value in metadata.items()
        if key.lower().partition("-")[0] not in _TECHNICAL
        and not key.upper().startswith("_STATISTICS")
    }


def chapters(source: Source, until: Fraction | None) -> list[Any]:
    """Return the chapters between the clip's start and `until`, times counted from its start."""
    found = []
    for chapter in source.container.chapters():
        base = fraction(chapter["time_base"]) or Fraction(1, 1000)
        start = chapter["start"] * base - source.zero
        end = chapter["end"] * base - source.zero
        if until is not None:
            end = min(end, until - source.zero)
        start = max(start, Fraction(0))
        if end > start:
            ticks = Fraction(1, 1_000_000)
            found.append(
                {
                    "id": chapter["id"],
                    "start": round(start / ticks),
                    "end": round(end / ticks),
                    "time_base": ticks,
                    "metadata": dict(chapter["metadata"]),
                }
            )
    return found
