"""Can a container hold a stream: its muxer is asked, by writing the stream alone into memory."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from typing import Any

import av
from av.packet import Packet
from av.stream import Stream

from snellen.video.source import PICTURE
from snellen.video.times import fraction


def words(stream: Stream) -> str:
    """Return e.g. 'subtitle stream 3 (hdmv_pgs_subtitle, eng)'."""
    codec = stream.codec_context.codec.canonical_name if stream.codec_context else None
    codec = codec or getattr(stream, "name", None) or "unknown codec"
    kind = "cover picture" if stream.disposition & PICTURE else f"{stream.type} stream"
    inside = ", ".join(filter(None, (codec, stream.metadata.get("language"))))
    return f"{kind} {stream.index} ({inside})"


def fits(stream: Stream, first: Packet[Any] | None, muxer: str) -> bool:
    """Ask the muxer itself whether it can hold the stream: write it alone, into memory."""
    file = BytesIO()
    try:
        with av.open(file, "w", format=muxer) as out:
            copy = out.add_stream_from_template(stream, opaque=True)
            copy.metadata.update(stream.metadata)
            copy.disposition = stream.disposition
            out.start_encoding()
            if first is not None:
                first.pts = first.dts = 0
                first.time_base = fraction(copy.time_base) or Fraction(1, 1000)
                first.stream = copy
                out.mux(first)
        if stream.disposition & PICTURE:  # mov takes covers and does not write them
            file.seek(0)
            with av.open(file, "r") as back:
                return len(back.streams) > 0
    except (av.FFmpegError, ValueError, OSError):
        return False
    return True
