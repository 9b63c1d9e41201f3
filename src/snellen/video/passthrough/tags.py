"""Tags and chapters of the output: of the container, and of each stream."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from snellen.video.media import MediaInfo
from snellen.video.passthrough.languages import language_code
from snellen.video.passthrough.timecode import advanced

_TECHNICAL = {
    *("major_brand", "minor_version", "compatible_brands", "encoder", "duration"),
    *("handler_name", "vendor_id", "rotate", "alpha_mode"),
    *("bps", "number_of_frames", "number_of_bytes", "source_id"),
}
"""Tags that describe the input's file or coding, not its contents."""

_UNCHECKED = {"language", "creation_time", "filename", "mimetype"}
"""Tags of a stream whose loss is reported elsewhere, or for the container."""

UNMOVED = "it cannot be moved to the clip's start"
"""The warning about a time code that is left out."""

_LANGUAGE_SUFFIX = re.compile(r"-[a-z]{3}$")
"""FFmpeg appends this to Matroska's tags with a language: BPS-eng."""


def lasting(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags that stay true when the pictures are replaced."""
    return {key: value for key, value in tags.items() if not _is_technical(key)}


def _is_technical(key: str) -> bool:
    bare = _LANGUAGE_SUFFIX.sub("", key).lower()
    return bare in _TECHNICAL or key.upper().startswith("_STATISTICS")


def container_tags(info: MediaInfo) -> dict[str, str]:
    """Return the tags of the output's container."""
    return _with_time_code(lasting(info.tags), info)


def video_tags(info: MediaInfo, muxer: str) -> dict[str, str]:
    """Return the tags of the output's video stream."""
    return _renamed(_with_time_code(lasting(info.video.tags), info), muxer)


def copied_tags(tags: Mapping[str, str], info: MediaInfo, muxer: str) -> dict[str, str]:
    """Return the tags of a stream that is copied; technical ones stay true of the whole stream."""
    kept = lasting(tags)
    if muxer == "matroska" and not info.clip.is_part:
        kept = {k: v for k, v in tags.items() if k.lower() not in ("handler_name", "vendor_id")}
    elif muxer in ("mp4", "mov") and "handler_name" in tags:
        kept["handler_name"] = tags["handler_name"]
    return _renamed(_with_time_code(kept, info), muxer)


def _renamed(tags: dict[str, str], muxer: str) -> dict[str, str]:
    """Use the muxer's keys and values: FFmpeg reads mp4's title as `name` but writes `title`."""
    out = dict(tags)
    for key in [key for key in out if key.lower() == "name"]:
        if not any(other.lower() == "title" for other in out):
            out["title"] = out.pop(key)
    if "language" in out:
        out["language"] = language_code(out["language"], muxer)
    return out


def _with_time_code(tags: dict[str, str], info: MediaInfo) -> dict[str, str]:
    """Let the time code begin where the clip does; leave it out where that is unknown."""
    cut = info.zero - max(info.start, Fraction(0))
    out = {}
    for key, value in tags.items():
        if key.lower() == "timecode" and info.clip.start is not None and cut > 0:
            moved = advanced(value, cut, info.rate)
            if moved is None:
                continue
            value = moved
        out[key] = value
    return out


def lost_time_code(info: MediaInfo) -> tuple[str, ...]:
    """Return a sentence for each time code that cannot be moved to the clip's start."""
    tags = {**info.tags, **info.video.tags}
    codes = {key: value for key, value in tags.items() if key.lower() == "timecode"}
    lost = codes.keys() - _with_time_code(codes, info).keys()
    return tuple(f"time code {codes[k]}: {UNMOVED}" for k in lost)


def missing(expected: Mapping[str, str], got: Mapping[str, str]) -> list[str]:
    """Return the tags of a stream that did not come back; technical ones do not count."""
    there = {key.lower() for key in got}
    if "name" in there:
        there.add("title")
    lost = [
        key
        for key, value in expected.items()
        if value and not _is_technical(key) and key.lower() not in there | _UNCHECKED
    ]
    language = expected.get("language", "und")
    if language not in ("", "und") and got.get("language", "und") == "und":
        lost.append(f"language {language}")
    return lost


def chapters(info: MediaInfo, until: Fraction | None) -> list[Any]:
    """Return the chapters between the clip's start and `until`, as PyAV takes them.

    `until` is in seconds of the container's clock; the chapters' times count from the clip's start.
    """
    found = []
    tick = Fraction(1, 1_000_000)
    for chapter in info.chapters:
        end = chapter.end - info.zero
        if until is not None:
            end = min(end, until - info.zero)
        start = max(chapter.start - info.zero, Fraction(0))
        if end > start:
            found.append(
                {
                    "id": chapter.id,
                    "start": round(start / tick),
                    "end": round(end / tick),
                    "time_base": tick,
                    "metadata": dict(chapter.tags),
                }
            )
    return found
