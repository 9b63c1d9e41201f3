"""Encodes frames, and muxes them with the streams that are copied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.frames.frame import Frame, Plane
from snellen.process import Home
from snellen.video import pixels
from snellen.video.media import Item, MediaInfo
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import chapters, container_tags
from snellen.video.sink.aspect import AspectWriter
from snellen.video.sink.encode import (
    Plan,
    add_video,
    encoder_base,
    open_container,
    set_colour,
    set_decoding_times,
)
from snellen.video.timestamps import stamp_of


class FrameEncoder:
    """Gives the encoder of a stream of `encode.add_video` frames, `count` of them so far.

    Its packets get their times and durations.
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
    """Makes FFmpeg's frames as a stream's encoder takes them."""

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


_REFUSALS = (av.ArgumentError, av.InvalidDataError, av.PatchWelcomeError)
"""Errors with which muxers reject single packets; a full disk never gives these."""
_MAX_REFUSED = 50
"""More refused packets than this are not the input's fault, and end the work."""


class Sink:
    """An open output; takes items from one thread at a time.

    Tags and chapters are those of `info`; `threads` as of `encode.add_video`. So far `written`
    frames were given to the encoder, and the muxer has `refused` so many packets. `damage` of
    streams that were encoded anew is complete when `finish` returns.
    """

    def __init__(
        self,
        file: Path | BinaryIO,
        muxer: str,
        plan: Plan,
        info: MediaInfo,
        copier: Copier,
        threads: int = 0,
    ) -> None:
        self._home = Home("this output")
        self._plan, self._copier = plan, copier
        self.written = self.refused = 0
        self.damage: tuple[str, ...] = ()
        self._header = AspectWriter(file, muxer, plan.format, plan.picture.sample_aspect_ratio)
        try:
            self._out = open_container(
                self._header.target, muxer, plan.time_base, copier.suffix, info.plays
            )
            self._stream = add_video(self._out, plan, copier.suffix, threads)
            self._encoder = FrameEncoder(self._stream, plan)
            copier.attach(self._out)
            self._out.metadata.update(container_tags(info))
            found = chapters(info, _expected_end(info))
            if found:
                self._out.set_chapters(found)
            self._out.start_encoding()
            self._mux(copier.start())
        except BaseException:
            self.abandon()
            raise

    def write(self, item: Item) -> None:
        """Encode the item's frame; keep its packets until their time."""
        if item.clip_end is not None:
            self._copier.end = item.clip_end
        for packet in item.packets:
            self._copier.offer(packet)
        if item.frame is None:
            return
        for packet in self._encoder.encode(item.frame):
            self._mux_timed(packet)
        self.written += 1

    def finish(self) -> None:
        """Write what encoder and copier still hold, and close the container."""
        for packet in self._encoder.flush():
            self._mux_timed(packet)
        self._end()

    def _end(self) -> None:
        """Write the rest of the other streams, and close the container."""
        self._mux(self._copier.due(None))
        self.refused += self._copier.failed
        self.damage = self._copier.damage()
        self._copier.close()
        self._out.close()
        self._header.finish()

    def abandon(self) -> None:
        """Close the container; its contents are incomplete."""
        if self._home.keep(self.__dict__):
            return  # closing it would write into the parent's file
        self._copier.close()
        with contextlib.suppress(Exception):
            self._out.close()
        with contextlib.suppress(OSError):
            self._header.close()

    def _mux_timed(self, packet: Packet[Any]) -> None:
        """Mux a packet of the video, and before it those of other streams that are due."""
        stamp = stamp_of(packet)
        if stamp is not None and self._copier.waits:
            self._mux(self._copier.due(stamp * self._plan.time_base))
        self._mux([packet])

    def _mux(self, packets: Iterable[Packet[Any]]) -> None:
        for packet in packets:
            try:
                self._out.mux(packet)
            except _REFUSALS:
                # E.g. damaged audio that the muxer parses: only that packet is lost.
                self.refused += 1
                if self.refused > _MAX_REFUSED or not self._copier.copies:
                    raise


def _expected_end(info: MediaInfo) -> Fraction | None:
    """Return where the clip ends, in seconds of the container's clock; None: with the input."""
    if info.end is None and info.clip.frames is not None and info.frames is not None:
        return info.zero + info.frames / info.rate
    return info.end
