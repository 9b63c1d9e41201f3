"""The time code of mov and mp4 whose flags contradict its rate, which FFmpeg does not read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from snellen.files.opening import raw
from snellen.video.media import StreamInfo
from snellen.video.source.ends.mp4 import description
from snellen.video.source.stream_info import stream_info

_KIND, _FLAGS, _RATE = slice(12, 16), slice(28, 32), 40
"""Where a description of samples states its kind, flags and frames a second (QuickTime File Format,
timecode sample description)."""
_DROP, _COUNTER = 1, 8
_DROPPED_OF = 30
"""Only rates that are multiples of this one leave out numbers of frames."""


def with_time_code(
    container: InputContainer, video: VideoStream, path: Path | None
) -> tuple[StreamInfo, ...]:
    """Describe all streams; a time code that FFmpeg refuses becomes a tag, as any other one is.

    Parameters
    ----------
    container : InputContainer
    video : VideoStream
        What the time code belongs to.
    path : Path or None
        The file; None: it cannot be read once more.
    """
    found = [stream_info(stream) for stream in container.streams]
    if path is None or not container.format.name.startswith("mov"):
        return tuple(found)
    if "timecode" in video.metadata:
        return tuple(found)
    for stream in container.streams.data:
        code = None if "timecode" in stream.metadata else _read(stream, path)
        if code is not None:
            return tuple(
                replace(one, tags={**one.tags, "timecode": code})
                if one.index in (video.index, stream.index)
                else one
                for one in found
            )
    return tuple(found)


def _read(stream: Stream, path: Path) -> str | None:
    """Return the first time code of a track, without the flag; None: it has none."""
    places = stream.index_entries
    if stream.codec_context is not None or not len(places) or places[0].size != 4:
        return None
    with raw(path) as file:
        file.seek(0, 2)
        stated = description(file, file.tell(), stream.id)
        file.seek(places[0].pos)
        first = file.read(4)
    if len(stated) <= _RATE or stated[_KIND] != b"tmcd" or len(first) < 4:
        return None
    flags, rate = int.from_bytes(stated[_FLAGS], "big"), stated[_RATE]
    if not flags & _DROP or flags & _COUNTER or rate == 0 or rate % _DROPPED_OF == 0:
        return None
    seconds, frame = divmod(int.from_bytes(first, "big"), rate)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}:{second:02}:{frame:02}"
