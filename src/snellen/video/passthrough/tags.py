"""Tags and chapters: what is said about the film as a whole, and of each stream."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from snellen.video.passthrough.languages import plain
from snellen.video.passthrough.timecode import advanced
from snellen.video.source.decode import Source
from snellen.video.source.open import start_of
from snellen.video.timestamps import fraction

_TECHNICAL = {
    *("major_brand", "minor_version", "compatible_brands", "encoder", "duration"),
    *("handler_name", "vendor_id", "rotate", "alpha_mode"),
    *("bps", "number_of_frames", "number_of_bytes", "source_id"),
}
"""Tags that describe the old file or the old coding, not the film."""

_UNMISSED = {"language", "creation_time", "filename", "mimetype"}
"""Tags of a stream whose absence is judged elsewhere, or told of the film as a whole."""

_IN_A_LANGUAGE = re.compile(r"-[a-z]{3}$")
"""FFmpeg's ending of Matroska's tags with a language: BPS-eng."""


def tags(metadata: dict[str, str]) -> dict[str, str]:
    """Return the tags that stay true of a file with other pictures in it."""
    return {key: value for key, value in metadata.items() if not _is_technical(key)}


def _is_technical(key: str) -> bool:
    bare = _IN_A_LANGUAGE.sub("", key).lower()
    return bare in _TECHNICAL or key.upper().startswith("_STATISTICS")


def film_tags(source: Source) -> dict[str, str]:
    """Return what the output says of the film."""
    return _with_time_code(tags(dict(source.container.metadata)), source)


def video_tags(source: Source, muxer: str) -> dict[str, str]:
    """Return what the output says of the video stream."""
    return _worded(_with_time_code(tags(dict(source.stream.metadata)), source), muxer)


def copied_tags(metadata: dict[str, str], source: Source, muxer: str) -> dict[str, str]:
    """Return what the output says of a stream that is copied: numbers of it stay true."""
    kept = tags(metadata)
    if muxer == "matroska" and not source.clip_is_part:
        kept = {k: v for k, v in metadata.items() if k.lower() not in ("handler_name", "vendor_id")}
    elif muxer in ("mp4", "mov") and "handler_name" in metadata:
        kept["handler_name"] = metadata["handler_name"]
    return _worded(_with_time_code(kept, source), muxer)


def _worded(metadata: dict[str, str], muxer: str) -> dict[str, str]:
    """Say it in the muxer's words: of a title in mp4 FFmpeg reads `name`, but writes `title`."""
    out = dict(metadata)
    for key in [key for key in out if key.lower() == "name"]:
        if not any(other.lower() == "title" for other in out):
            out["title"] = out.pop(key)
    if "language" in out:
        out["language"] = plain(out["language"], muxer)
    return out


def _with_time_code(metadata: dict[str, str], source: Source) -> dict[str, str]:
    """Let the time code begin where the clip does; without it where that cannot be said."""
    cut = source.zero - max(start_of(source.container), Fraction(0))
    out = {}
    for key, value in metadata.items():
        if key.lower() == "timecode" and source.clip.start is not None and cut > 0:
            moved = advanced(value, cut, source.rate)
            if moved is None:
                continue
            value = moved
        out[key] = value
    return out


def lost_time_code(source: Source) -> tuple[str, ...]:
    """Say so where the clip's time code cannot be told."""
    said = {**source.container.metadata, **source.stream.metadata}
    codes = {key: value for key, value in said.items() if key.lower() == "timecode"}
    gone = codes.keys() - _with_time_code(codes, source).keys()
    return tuple(f"time code {codes[k]}: it cannot be moved to the clip's start" for k in gone)


def missing(wanted: dict[str, str], got: dict[str, str]) -> list[str]:
    """Return the tags of a stream that did not come back; technical ones are nobody's loss."""
    there = {key.lower() for key in got}
    if "name" in there:
        there.add("title")
    gone = [
        key
        for key, value in wanted.items()
        if value and not _is_technical(key) and key.lower() not in there | _UNMISSED
    ]
    language = wanted.get("language", "und")
    if language not in ("", "und") and got.get("language", "und") == "und":
        gone.append(f"language {language}")
    return gone


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
