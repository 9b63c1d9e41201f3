"""The end of a damaged input, decoded once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video.ffmpeg import choose_stream, limit_size, open_input
from snellen.video.timestamps import fraction

_BACK = Fraction(1)
"""Seconds before the frames where reading of a program stream begins: just behind that place its
times are wrong."""


def frames_after(
    latest: int, path: Path, what: str, maps: Sequence[str]
) -> Iterator[tuple[VideoFrame, int]]:
    """Yield the frames later than `latest`, with their times, decoded in a single thread.

    When frame threads meet an error while they are flushed, they drop the frames behind it.
    """
    with open_input(path) as container:
        stream = choose_stream(container, what, maps)
        limit_size(stream, what)
        stream.codec_context.thread_type = "NONE"
        back = _BACK if container.format.name == "mpeg" else Fraction(0)
        with suppress(av.FFmpegError, OSError):
            container.seek(latest - round(back / (fraction(stream.time_base) or 1)), stream=stream)
        with suppress(av.FFmpegError, OSError, IndexError):
            for packet in container.demux(stream):
                if packet.size:
                    yield from _later(latest, stream, packet)
        yield from _later(latest, stream, None)


def _later(
    latest: int, stream: VideoStream, packet: Packet[Any] | None
) -> list[tuple[VideoFrame, int]]:
    try:
        frames = stream.decode(packet)
    except (av.FFmpegError, ValueError):
        return []
    return [(one, one.pts) for one in frames if one.pts is not None and one.pts > latest]
