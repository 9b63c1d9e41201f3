"""Can a container hold a stream: its muxer is asked, by writing the stream alone into memory."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from typing import Any

import av
from av.packet import Packet
from av.stream import Disposition, Stream

from snellen.video.passthrough.tags import missing
from snellen.video.source.open import BYTES_AS_THEY_ARE, PICTURE
from snellen.video.timestamps import fraction

_UNMISSED = Disposition.default | PICTURE
"""Dispositions that are a matter of all streams together, or asked about by themselves."""


def words(stream: Stream) -> str:
    """Return e.g. 'subtitle stream 3 (hdmv_pgs_subtitle, eng)'."""
    codec = stream.codec_context.codec.canonical_name if stream.codec_context else None
    codec = codec or getattr(stream, "name", None) or "unknown codec"
    kind = "cover picture" if stream.disposition & PICTURE else f"{stream.type} stream"
    inside = ", ".join(filter(None, (codec, stream.metadata.get("language"))))
    return f"{kind} {stream.index} ({inside})"


def unheld(
    stream: Stream, first: Packet[Any] | None, muxer: str, metadata: dict[str, str]
) -> list[str] | None:
    """Ask the muxer itself what it keeps: write the stream alone, into memory, and read it back.

    Returns which of `metadata` and dispositions do not come back; None: the stream does not.
    """
    file = BytesIO()
    try:
        with av.open(file, "w", format=muxer, **BYTES_AS_THEY_ARE) as out:
            copy = out.add_stream_from_template(stream, opaque=True)
            copy.metadata.update(metadata)
            copy.disposition = stream.disposition
            out.start_encoding()
            if first is not None:
                first.pts = first.dts = 0
                first.time_base = fraction(copy.time_base) or Fraction(1, 1000)
                first.stream = copy
                out.mux(first)
    except (av.FFmpegError, ValueError, OSError):
        return None
    file.seek(0)
    try:
        with av.open(file, "r", **BYTES_AS_THEY_ARE) as back:
            if len(back.streams) > 0:
                return _compare(stream, metadata, back.streams[0])
    except (av.FFmpegError, ValueError, OSError):
        pass  # nothing in it to be read: that says little
    return None if stream.disposition & PICTURE else []  # mov takes covers and writes none


def _compare(stream: Stream, metadata: dict[str, str], back: Stream) -> list[str]:
    gone = stream.disposition & ~back.disposition & ~_UNMISSED
    marks = [f"mark {one.name}" for one in Disposition if one & gone]
    return missing(metadata, dict(back.metadata)) + marks
