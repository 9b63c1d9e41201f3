"""Which streams of an input travel along with the video, and whether a container can hold one.

A stream is written alone into memory by the container's muxer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from typing import Any

import av
from av.packet import Packet
from av.stream import Disposition, Stream

from snellen.video.ffmpeg import ATTACHED_PICTURE, TAGS_AS_BYTES
from snellen.video.media import MediaInfo, StreamInfo
from snellen.video.opening import open_input, open_own
from snellen.video.passthrough.audio import AudioConversion
from snellen.video.passthrough.subtitles import TextSubtitles
from snellen.video.passthrough.tags import missing
from snellen.video.selection import Described, selected
from snellen.video.timestamps import Clock, fraction

_MAX_SEARCHED = 20000
"""Packets read to find the first one of every stream."""
_UNCHECKED = Disposition.default | ATTACHED_PICTURE
"""Dispositions that depend on all streams together, or are checked elsewhere."""


def others(info: MediaInfo) -> list[StreamInfo]:
    """Return the streams beside the video that is worked on which are kept, in their order."""
    found = [s for s in info.streams if s.index != info.video_index]
    found = [s for s in found if not _is_written_by_muxer(s, info.video)]
    asked = [Described(s.index, s.type, s.is_cover, s.tags) for s in info.streams]
    kept = selected(info.clip.map, asked, info.name)
    if kept is None:
        return found
    return sorted((s for s in found if s.index in kept), key=lambda s: kept.index(s.index))


def first_packets(info: MediaInfo, streams: list[StreamInfo]) -> dict[int, Packet[Any]]:
    """Return the first packet of each stream by index, read from the file opened once more."""
    found: dict[int, Packet[Any]] = {}
    if info.path is None:
        return found
    sought = {s.index for s in streams if s.type != "attachment"}
    with open_input(info.path) as container:
        try:
            for number, packet in enumerate(container.demux()):
                if packet.size and packet.stream.index in sought:
                    found.setdefault(packet.stream.index, packet)
                if sought <= found.keys() or number > _MAX_SEARCHED:
                    break
        except (av.FFmpegError, OSError, IndexError):
            pass  # the reader reports damage
    return found


def _is_written_by_muxer(stream: StreamInfo, video: StreamInfo) -> bool:
    """Return whether the muxer of mov or mp4 makes this track itself, of chapters or a tag."""
    # Chapters are stored in a text track, which FFmpeg presents as data that is not to be read; the
    # time code has a track of its own, and a tag of the video.
    if stream.type != "data":
        return False
    code = stream.tags.get("timecode")
    return stream.discarded or (code is not None and code == video.tags.get("timecode"))


@dataclass(eq=False)
class Copy:
    """One stream that is copied."""

    info: StreamInfo
    template: Stream
    base: Fraction
    """Seconds of a tick of the input's packets."""
    clock: Clock | None
    """Keeps the times of audio rising; None: packets may share a time, as subtitles may."""
    tags: dict[str, str]
    out: Stream | None = None
    out_base: Fraction = Fraction(1)
    last: int | None = None
    """Decoding time of the last packet, in ticks of the output."""
    latest: Fraction | None = None
    """Latest time of a packet so far, in seconds of the output."""
    cover: bytes | None = None
    """A cover's picture, which is written once and before all packets."""
    first: Packet[Any] | None = None
    text: TextSubtitles | None = None
    """Converts subtitles that the output cannot hold as they are; None: they are copied."""
    audio: AudioConversion | None = None
    """Encodes audio anew; None: it is copied."""


@dataclass(order=True)
class Waiting:
    """A packet that waits for the video to reach its time."""

    time: Fraction
    number: int
    packet: Packet[Any] = field(compare=False)
    copy: Copy = field(compare=False)


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
