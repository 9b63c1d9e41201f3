"""Encodes frames into packets: what an output and a segment have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.frames.frame import Frame, Plane
from snellen.video import pixels
from snellen.video.sink.encode import Plan, encoder_base, set_colour, set_decoding_times


class FrameEncoder:
    """Gives a stream's encoder frames, and its packets their times and durations.

    Parameters
    ----------
    stream : VideoStream
        Of `encode.add_video`.
    plan : Plan
        Of this stream.

    Attributes
    ----------
    count : int
        Frames so far.
    """

    def __init__(self, stream: VideoStream, plan: Plan) -> None:
        self._stream, self._plan = stream, plan
        self._durations: dict[int, int] = {}
        self._times: list[int] = []  # of each frame, for encoders whose clock counts frames
        self._converter = Converter(plan)
        self._begun = False
        self.count = 0

    def encode(self, given: Frame) -> list[Packet[Any]]:
        """Encode a frame; return the packets that are ready."""
        frame = self._converter.picture(given)
        pts, duration = given.pts, given.duration
        if self._plan.numbered:
            pts, duration = self.count, 1
        frame.pts, frame.duration = pts, duration
        if self._plan.encoder.traits.frame_clock:
            self._times.append(pts)
            frame.pts, frame.duration = self.count, 1
        frame.time_base = encoder_base(self._plan)
        self._durations[pts] = duration
        packets = self._timed(self._stream.encode(frame))
        self.count += 1
        return packets

    def flush(self) -> list[Packet[Any]]:
        """Return what the encoder still holds."""
        rest = self._stream.encode(None)
        if not self._begun:
            set_decoding_times(rest, 1 / (self._plan.rate * self._plan.time_base))
        return self._timed(rest)

    def _timed(self, packets: list[Packet[Any]]) -> list[Packet[Any]]:
        for packet in packets:
            self._begun = True
            if self._plan.encoder.traits.frame_clock:
                self._restore_times(packet)
            if packet.pts is not None:
                # Not every encoder passes durations on.
                packet.duration = self._durations.pop(packet.pts, packet.duration)
        return packets

    def _restore_times(self, packet: Packet[Any]) -> None:
        """Replace frame numbers by times in a packet of an encoder whose clock counts frames."""
        step = 1 / (self._plan.rate * self._plan.time_base)

        def time(number: int) -> int:
            early = min(number, 0)  # decoding begins before the first frame is shown
            return self._times[number - early] + round(early * step)

        packet.dts = None if packet.dts is None else time(packet.dts)
        packet.pts = None if packet.pts is None else time(packet.pts)
        packet.time_base = self._plan.time_base


class Converter:
    """Makes FFmpeg's frames as a stream's encoder takes them.

    Parameters
    ----------
    plan : Plan
        Of the stream.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._neutral: dict[tuple[int, int], Plane] = {}

    def picture(self, frame: Frame) -> VideoFrame:
        """Return FFmpeg's frame with the same planes; converted only where the formats differ."""
        given, taken = self._plan.format, self._plan.encoder.pixels
        planes = frame.planes
        if given.subsampling is None and taken.subsampling is not None:
            # Not by swscale, which would stretch grey of limited range to full range.
            given = replace(given, subsampling=taken.subsampling)
            planes += tuple(self._neutral_plane(planes[0], shape) for shape in given.shapes[1:])
        layout = pixels.planar(given.bits, given.subsampling)
        if self._plan.alpha:
            assert frame.alpha is not None
            layout = pixels.with_alpha(given.bits, given.subsampling) or layout
            planes = (*planes, frame.alpha)
        picture = pixels.picture(planes, layout)
        if layout != taken.name:
            # State the same range on both sides: samples are rearranged, not stretched.
            picture = picture.reformat(format=taken.name, src_color_range=1, dst_color_range=1)
        set_colour(picture, self._plan.picture)
        return picture

    def _neutral_plane(self, like: Plane, shape: tuple[int, int]) -> Plane:
        if shape not in self._neutral:
            self._neutral[shape] = pixels.blank(like, shape, self._plan.format.bits)
        return self._neutral[shape]
