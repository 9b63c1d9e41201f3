"""Finds whether a container can hold a stream, by writing it alone into memory with its muxer."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from typing import Any

import av
from av.packet import Packet
from av.stream import Disposition, Stream

from snellen.video.ffmpeg import TAGS_AS_BYTES, open_own
from snellen.video.media import StreamInfo
from snellen.video.passthrough.audio import AudioConversion
from snellen.video.passthrough.subtitles import TextSubtitles
from snellen.video.passthrough.tags import missing
from snellen.video.timestamps import fraction
from snellen.video.unopened import ATTACHED_PICTURE

_UNCHECKED = Disposition.default | ATTACHED_PICTURE
"""Dispositions that depend on all streams together, or are checked elsewhere."""


def lost_tags(
    info: StreamInfo,
    template: Stream,
    first: Packet[Any] | None,
    muxer: str,
    tags: dict[str, str],
    converter: AudioConversion | TextSubtitles | None = None,
) -> list[str] | None:
    """Write the stream alone into memory and read it back; return what its description loses.

    Those are the tags, of those that the copy is to have, and dispositions that do not come back;
    None: the stream itself does not. The copy is modelled on the `template`, FFmpeg's stream, or
    made by the `converter`, and its first packet is written.
    """
    file = BytesIO()
    try:
        with av.open(file, "w", format=muxer, **TAGS_AS_BYTES) as out:
            if converter is not None:
                copy = converter.add(out)
            else:
                copy = out.add_stream_from_template(template, opaque=True)
            copy.metadata.update(tags)
            copy.disposition = info.disposition
            out.start_encoding()
            if first is not None:
                first.pts = first.dts = 0
                first.time_base = fraction(copy.time_base) or Fraction(1, 1000)
                first.stream = copy
            if converter is not None:
                out.mux(converter.trial(first, copy))
            elif first is not None:
                out.mux(first)
    except (av.FFmpegError, ValueError, OSError):
        return None
    file.seek(0)
    try:
        with open_own(file) as back:
            if len(back.streams) > 0:
                if back.streams[0].type != info.type and muxer == "mpegts":
                    return None  # it holds anything, as data that nobody reads
                return _lost(info, tags, back.streams[0])
    except (av.FFmpegError, ValueError, OSError):
        pass  # nothing can be read of it, which proves no loss
    # mov accepts covers, and all but Matroska attachments, but they do not write them.
    attached = info.type == "attachment" and muxer != "matroska"
    return None if info.is_cover or attached else []


def _lost(info: StreamInfo, tags: dict[str, str], back: Stream) -> list[str]:
    lost = info.disposition & ~back.disposition & ~_UNCHECKED
    marks = [f"mark {one.name}" for one in Disposition if one & lost]
    return missing(tags, dict(back.metadata)) + marks
