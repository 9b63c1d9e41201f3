"""Names and numbers of FFmpeg that source, passthrough and sink share."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.container import InputContainer
from av.stream import Disposition, Stream

from snellen.video import pixels
from snellen.video.logs import logs
from snellen.video.pipes import Incoming
from snellen.video.timestamps import fraction

FULL_RANGE, LIMITED_RANGE = 2, 1
"""AVCOL_RANGE_JPEG and AVCOL_RANGE_MPEG."""

UNSPECIFIED = 2
"""AVCOL_SPC_UNSPECIFIED, AVCOL_PRI_UNSPECIFIED and AVCOL_TRC_UNSPECIFIED."""

BT709 = 1
"""AVCOL_SPC_BT709."""

TAGS_AS_BYTES: dict[str, Any] = (
    {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "surrogateescape"}
)
"""Arguments of av.open that keep tags which are not UTF-8 byte by byte; PyAV 19 always does."""

ATTACHED_PICTURE = Disposition.attached_pic | Disposition.timed_thumbnails
"""Dispositions of covers and thumbnails, which FFmpeg presents as video streams."""


def name(file: Path | BinaryIO | Incoming) -> str:
    """Return what messages call an input or output."""
    if isinstance(file, Path):
        return str(file)
    return file.title if isinstance(file, Incoming) else str(getattr(file, "name", "the stream"))


def reason(error: BaseException) -> str:
    """Return the message of FFmpeg or the system, without error numbers."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def start_of(container: InputContainer) -> Fraction:
    """Return the container's start in seconds, exact where a stream states its own start."""
    if container.start_time is None:
        return Fraction(0)
    rough = Fraction(container.start_time, av.time_base)
    exact = [
        s.start_time * base
        for s in container.streams
        if s.start_time is not None and (base := fraction(s.time_base))
    ]
    close = [t for t in exact if abs(t - rough) < Fraction(2, av.time_base)]
    return close[0] if close else rough


def first_stated(*values: int) -> int:
    """Return the first colour number that is not unspecified."""
    return next((int(v) for v in values if int(v) != UNSPECIFIED), UNSPECIFIED)


def chroma_location(container: InputContainer, stream: Stream) -> str | None:
    """Return FFmpeg's name of the stream's chroma location; None: the stream does not state it.

    PyAV 18 has no attribute for it, but FFmpeg's own description of the streams contains it.
    """
    for line in logs.description(container).splitlines():
        before, _, video = line.partition(": Video: ")
        if not before.strip().startswith(f"Stream #0:{stream.index}") or not video:
            continue
        if not before.strip()[len(f"Stream #0:{stream.index}") :][:1].isdigit():
            fields = {
                field.strip()
                for part in video.split("(")
                for field in part.split(")")[0].split(",")
            }
            return next((field for field in pixels.SITINGS if field in fields), None)
    return None
