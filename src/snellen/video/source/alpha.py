"""The alpha channel of VP8 and VP9, which lies beside the packets and which FFmpeg leaves out."""

from __future__ import annotations

from typing import Any, Final, cast

import av
import numpy as np
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video import pixels

_CODECS = ("vp8", "vp9")
_BESIDE: Final = "matroska_block_additional"
"""FFmpeg's name of what Matroska and WebM keep beside a packet."""
_HEADER = 8
_ALPHA = b"\0\0\0\0\0\0\0\1"
"""Its first bytes, where it is a picture whose luma is alpha (WebM, "Alpha Channel")."""
_MOST = 64
"""Pictures that wait for their colours."""


class AlphaDecoder:
    """Decodes the alpha channel of a stream that `has_alpha`, and joins it to the frames."""

    def __init__(self, stream: VideoStream) -> None:
        context = stream.codec_context
        self._context: Any = VideoCodecContext.create(context.codec.canonical_name, "r")
        self._context.options = dict(context.options or {})  # limits of sizes are among them
        self._context.thread_count = 1  # so that it is never behind the colours
        self._waiting: dict[int | None, VideoFrame] = {}

    def send(self, packet: Packet[Any] | None) -> bool:
        """Decode what lies beside a packet; return whether that worked."""
        if packet is None or not packet.has_sidedata(_BESIDE):
            return True
        data = bytes(packet.get_sidedata(_BESIDE))
        if not data.startswith(_ALPHA):
            return True
        beside: Packet[Any] = Packet(data[_HEADER:])
        beside.pts, beside.dts, beside.time_base = packet.pts, packet.dts, packet.time_base
        try:
            for frame in self._context.decode(beside):
                self._waiting[frame.pts] = frame
        except (av.FFmpegError, ValueError):
            return False
        while len(self._waiting) > _MOST:
            del self._waiting[next(iter(self._waiting))]
        return True

    def joined(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame with its alpha channel; where that is missing, it is opaque."""
        alpha = self._waiting.pop(frame.pts, None)
        name = frame.format.name
        if not name.startswith("yuv4"):
            return frame
        # The same range on both sides: samples are copied, not stretched.
        both = frame.reformat(
            format=name.replace("yuv", "yuva"), src_color_range=1, dst_color_range=1
        )
        both.pts, both.duration = frame.pts, frame.duration
        both.color_range, both.colorspace = frame.color_range, frame.colorspace
        shapes = {
            (one.width, one.height, pixels.parse(one.format.name).bits)
            for one in (frame, alpha or frame)
        }
        if alpha is not None and len(shapes) == 1:
            memory: tuple[Any, ...] = both.planes
            given: Any = np.from_dlpack(cast("Any", alpha.planes[0]))
            rows = np.frombuffer(memory[3], given.dtype).reshape(frame.height, -1)
            rows[:, : frame.width] = given
        return both


def has_alpha(stream: VideoStream) -> bool:
    """Return whether such a stream says that it has an alpha channel."""
    return (
        stream.metadata.get("alpha_mode") == "1"
        and stream.codec_context.codec.canonical_name in _CODECS
    )
