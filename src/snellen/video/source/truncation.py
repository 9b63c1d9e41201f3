"""Whether a file ends before the end of its boxes, tags, pages or packets, which FFmpeg ignores."""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from snellen.frames.opening import InputFile
from snellen.video.source.ends import (
    apng,
    asf,
    avi,
    dv,
    flv,
    gif,
    ivf,
    matroska,
    mp4,
    mpeg,
    mxf,
    ogg,
)

_WALKS: dict[str, Callable[[BinaryIO, int], str | None]] = {
    "apng": apng.chunks,
    "asf": asf.packets,
    "avi": avi.lists,
    "dv": dv.frames,
    "flv": flv.tags,
    "live_flv": flv.tags,
    "gif": gif.blocks,
    "ivf": ivf.frames,
    "matroska,webm": matroska.elements,
    "mpeg": mpeg.program,
    "mpegts": mpeg.transport,
    "mxf": mxf.klv,
    "ogg": ogg.pages,
}
"""By FFmpeg's name of the container. Others give no means: raw streams, y4m between frames, NUT."""


def cut_short(path: Path, format: str, whole: bool) -> str | None:
    """Return a sentence if the file is shorter than it states; None: not, or it is unknown.

    Parameters
    ----------
    path : Path
    format : str
        FFmpeg's name of the container.
    whole : bool
        Whether all of it was read; False: only a cut through the index counts.
    """
    with BufferedReader(InputFile(path)) as file:
        size = file.seek(0, 2)
        if format.startswith("mov"):
            return mp4.boxes(file, size, whole)
        walk = _WALKS.get(format) if whole else None
        return None if walk is None else walk(file, size)
