"""Interlaced pictures → progressive frames, one for each, at the same time."""

from __future__ import annotations

from fractions import Fraction

import av
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video.timestamps import fraction

_TOP_FIRST = (2, 4)
"""AV_FIELD_TT, AV_FIELD_TB."""


class Deinterlacer:
    """FFmpeg's bwdif, told by the pictures' own flags which of them are interlaced."""

    def __init__(self, stream: VideoStream, frame: VideoFrame, time_base: Fraction) -> None:
        self._time_base = time_base
        graph = Graph()
        chain = [
            graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format, time_base=time_base
            )
        ]
        which = "interlaced"
        if not frame.interlaced_frame:
            # Only the container says so (FFV1, ProRes in old files): its word for all pictures.
            order = int(stream.codec_context.field_order)
            chain.append(graph.add("setfield", "tff" if order in _TOP_FIRST else "bff"))
            which = "all"
        chain.append(graph.add("bwdif", f"mode=send_frame:deint={which}"))
        chain.append(graph.add("buffersink"))
        graph.link_nodes(*chain).configure()
        self._graph = graph
        self._done = False

    def push(self, frame: VideoFrame | None) -> list[tuple[VideoFrame, int | None]]:
        """Give a picture (None: no more); get frames that are ready and their times in ticks."""
        if self._done:
            return []
        self._done = frame is None
        if frame is not None:
            frame.time_base = self._time_base
        self._graph.vpush(frame)
        out: list[tuple[VideoFrame, int | None]] = []
        while True:
            try:
                ready = self._graph.vpull()
            except (av.BlockingIOError, av.EOFError):
                return out
            out.append((ready, self._ticks(ready)))

    def _ticks(self, frame: VideoFrame) -> int | None:
        if frame.pts is None:
            return None
        base = fraction(frame.time_base) or self._time_base  # bwdif halves it
        return round(frame.pts * base / self._time_base)
