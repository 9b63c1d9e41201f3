"""The end of an input, and what a file lacks of its boxes, tags, pages or packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.files.containers import container
from snellen.files.opening import raw
from snellen.files.remote import Remote
from snellen.video.opening import video_of
from snellen.video.source.ends import matroska, mp4, mpeg, nut, simple
from snellen.video.source.ends.parts import read_at
from snellen.video.timestamps import fraction

_WALKS: dict[str, Callable[[BinaryIO, int], str | None]] = {
    "apng": simple.apng,
    "asf": simple.asf,
    "avi": simple.avi,
    "dv": simple.dv,
    "flv": simple.flv,
    "live_flv": simple.flv,
    "gif": simple.gif,
    "ivf": simple.ivf,
    "matroska,webm": matroska.elements,
    "mpeg": mpeg.program,
    "mpegts": mpeg.transport,
    "mxf": simple.mxf,
    "nut": nut.frames,
    "ogg": simple.ogg,
}
"""By FFmpeg's name of the container. Others give no means, as raw streams."""
_BEGINNINGS = {
    **dict.fromkeys(("h264", "hevc", "mpegvideo", "m4v"), b"\0\0\1"),
    "mjpeg": b"\xff\xd8",
}
"""The bytes with which a raw stream begins, by FFmpeg's name of it; zeros may be before them."""
_HEAD = 64
"""Bytes at the beginning that are looked at."""
_BACK = Fraction(1)
"""Seconds before the frames where reading of a program stream begins: just behind that place its
times are wrong."""

_JOINS = 100
"""Packets that are looked at: no more files are joined."""
_MOST = 4_000_000
"""Reads after which a walk is given up, some seconds: more parts than films have."""


@dataclass(frozen=True, slots=True)
class Torn:
    """A packet that the demuxer marks as damaged."""

    stream: int
    """Index."""
    position: int | None
    times: list[int] = field(default_factory=list)
    """Times of this packet and of the next two of the stream, in ticks."""


class _Walked(BufferedReader):
    """A file that is walked; a file of endless tiny parts does not hold us up."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads > _MOST:
            raise ValueError
        return super().read(size)


def cut_short(path: Path, format: str, whole: bool) -> str | None:
    """Return a sentence if the file is shorter than it states, or has lost its header; None: not.

    `format` is FFmpeg's name of the container. Unless the `whole` file was read, only a cut through
    the index counts. Of an address none but the boxes of mp4 are walked, as that would read all of
    it once more.
    """
    try:
        with _Walked(raw(path)) as file:
            size = file.seek(0, 2)
            if format.startswith("mov"):
                return mp4.boxes(file, size, whole)
            if (harmed := headerless(file, path, format)) is not None:
                return harmed
            walk = _WALKS.get(format) if whole and not isinstance(path, Remote) else None
            return None if walk is None else walk(file, size)
    except (IndexError, OverflowError, ValueError):
        return None  # the file shrinks meanwhile, or its parts cannot be what they say
    except OSError as error:
        return f"the end of the input cannot be read ({error.strerror or error})"


def joins(path: Path, torn: list[Torn]) -> list[Torn]:
    """Return the packets of a transport stream that are whole, the last ones of a joined file."""
    found = []
    with suppress(OSError, IndexError), BufferedReader(raw(path)) as file:
        for one in torn[:_JOINS]:
            back = min(one.times) < one.times[0]
            if (one.position or 0) > 0 and mpeg.joined(file, one.position or 0, back):
                found.append(one)
    return found


def samples_short(path: Path, format: str, track: int, packets: int) -> str | None:
    """Return a sentence if fragments of an mp4 state more samples of a track than were read.

    So may its index, with times that cannot be: an edit list may well leave some out.
    """
    if not format.startswith("mov"):
        return None
    with suppress(OSError, ValueError), _Walked(raw(path)) as file:
        samples = mp4.fragment_samples(file, file.seek(0, 2), track)
        if samples > packets:
            lost = samples - packets
            return f"{lost} of {samples} video packets in the input's fragments are missing"
        return None if samples else mp4.unshown(file, file.seek(0, 2), track, packets)
    return None


def headerless(file: BinaryIO, path: Path, format: str) -> str | None:
    """Return a sentence if FFmpeg finds a raw stream in a file named as a container; None: not.

    A file that begins as a raw stream does is a whole one under another name.
    """
    beginning, suffix = _BEGINNINGS.get(format), path.suffix.lower()
    if beginning is None or not container(suffix).header:
        return None
    before, found, _ = read_at(file, 0, _HEAD).partition(beginning)
    if found and not before.strip(b"\0"):
        return None
    return (
        f"it has no header of a {suffix} file: FFmpeg reads it as raw {format}, which has no times"
    )


def frames_after(
    latest: int, path: Path, what: str, maps: Sequence[str]
) -> Iterator[tuple[VideoFrame, int]]:
    """Yield the frames later than `latest`, with their times, decoded in a single thread.

    When frame threads meet an error while they are flushed, they drop the frames behind it.
    """
    with video_of(path, what, maps, threads="NONE") as (opened, stream):
        back = _BACK if opened.format.name == "mpeg" else Fraction(0)
        with suppress(av.FFmpegError, OSError):
            opened.seek(latest - round(back / (fraction(stream.time_base) or 1)), stream=stream)
        with suppress(av.FFmpegError, OSError, IndexError):
            for packet in opened.demux(stream):
                if packet.size:
                    yield from _later(latest, stream, packet)
        yield from _later(latest, stream, None)


def _later(
    latest: int, stream: VideoStream, packet: Packet[Any] | None
) -> list[tuple[VideoFrame, int]]:
    with suppress(av.FFmpegError, ValueError):
        frames = stream.decode(packet)
        return [(one, one.pts) for one in frames if one.pts is not None and one.pts > latest]
    return []
