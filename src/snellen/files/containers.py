"""Containers of films by the suffixes of their names: one entry holds all that is known of one.

What a file is, its content says first: kinds.py. What muxers need beside is in `video/sink/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The container that a suffix of a film's name means."""

    muxer: str | None = None
    """FFmpeg's name of what writes it; None: it is read only."""
    named: bool = True
    """A file of this name is a film, where its content says nothing."""
    rgb: bool = False
    """Its frames are RGB: an animation."""
    either: bool = False
    """It is a picture where a picture is wanted."""
    kept: bool = False
    """Results of such a film are such a film, too, where nobody asks for another one."""
    segments: bool = False
    """A film is joined in it of segments."""
    header: bool = False
    """It begins with a header."""
    jpegs: bool = False
    """It may begin as a JPEG does: a raw stream of such pictures."""


Y4M = "yuv4mpegpipe"
"""FFmpeg's name of y4m."""
_OTHERS = Container(named=False, header=True)
_JPEGS = Container(named=False, jpegs=True)

CONTAINERS: dict[str, Container] = {
    ".mp4": Container(muxer="mp4", kept=True, segments=True, header=True),
    ".m4v": Container(muxer="mp4", kept=True, segments=True, header=True),
    ".mkv": Container(muxer="matroska", kept=True, segments=True, header=True),
    ".mov": Container(muxer="mov", kept=True, segments=True, header=True),
    ".webm": Container(muxer="webm", header=True),
    ".ts": Container(muxer="mpegts"),
    ".m2ts": Container(muxer="mpegts"),
    ".y4m": Container(muxer=Y4M, kept=True),
    ".avif": Container(muxer="avif", named=False),
    ".gif": Container(muxer="gif", named=False, rgb=True, either=True),
    ".webp": Container(muxer="webp", named=False, rgb=True),
    ".apng": Container(named=False, either=True),
    ".avi": Container(header=True),
    ".3gp": _OTHERS, ".asf": _OTHERS, ".flv": _OTHERS, ".mxf": _OTHERS, ".nut": _OTHERS,
    ".ogv": _OTHERS, ".wmv": _OTHERS,
    ".mjpeg": _JPEGS, ".mjpg": _JPEGS,
}  # fmt: skip
"""By suffix, lower case."""


def container(suffix: str) -> Container:
    """Return what is known of a suffix, of whatever case."""
    return CONTAINERS.get(suffix.lower(), Container(named=False))


def suffixes(chosen: Callable[[Container], object]) -> list[str]:
    """Return the suffixes of which something holds."""
    return [suffix for suffix, known in CONTAINERS.items() if chosen(known)]
