"""FFmpeg may read a container with a harmed header as a raw stream, which has no times."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from snellen.files.containers import container

_BEGINNINGS = {
    "h264": b"\0\0\1",
    "hevc": b"\0\0\1",
    "mpegvideo": b"\0\0\1",
    "m4v": b"\0\0\1",
    "mjpeg": b"\xff\xd8",
}
"""The bytes with which a raw stream begins, by FFmpeg's name of it; zeros may be before them."""
_HEAD = 64
"""Bytes at the beginning that are looked at."""


def headerless(file: BinaryIO, path: Path, format: str) -> str | None:
    """Return a sentence if FFmpeg finds a raw stream in a file named as a container; None: not.

    A file that begins as a raw stream does is a whole one under another name.

    Parameters
    ----------
    file : BinaryIO
    path : Path
        Its name.
    format : str
        FFmpeg's name of what it finds.
    """
    beginning, suffix = _BEGINNINGS.get(format), path.suffix.lower()
    if beginning is None or not container(suffix).header:
        return None
    file.seek(0)
    head = file.read(_HEAD)
    before, found, _ = head.partition(beginning)
    if found and not before.strip(b"\0"):
        return None
    return (
        f"it has no header of a {suffix} file: FFmpeg reads it as raw {format}, which has no times"
    )
