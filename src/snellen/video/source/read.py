"""Container → packets and pictures: an error costs what it hit, and is counted, not raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import av
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video.pipes import Incoming
from snellen.video.source import nvdec
from snellen.video.source.damage import Damage, shortfall
from snellen.video.source.open import choose_stream, open_input, rate_of, reason, start_of
from snellen.video.source.truncation import cut_short
from snellen.video.timestamps import fraction

_GIVE_UP = 50
"""Read errors in a row, without a packet between them, that end the reading."""
_ROOM = Fraction(2)
"""Seconds read beyond the end of a clip for audio that lies late in the file."""
_ONE_EACH = {"h264", "hevc", "av1", "ffv1", "prores", "dnxhd", "mjpeg"}
"""Codecs of which each packet is one picture that is shown, except for separate fields."""


class Reader:
    """One open container, read from front to back; `hardware`: decoded by NVDEC, as was probed.

    Attributes
    ----------
    container, stream : FFmpeg's, and the video stream of it
    time_base : seconds a tick of the video
    rate : frames a second, on average
    damage : what could not be read; complete when `pictures` ends
    """

    def __init__(self, place: Path | Incoming, what: str, hardware: bool = False) -> None:
        self._place = place
        self._what = what
        self.container = open_input(place, nvdec.settings(fall_back=True) if hardware else None)
        try:
            self.stream = choose_stream(self.container, what)
        except BaseException:
            self.container.close()
            raise
        self.stream.codec_context.thread_type = "AUTO"
        if hardware:
            nvdec.prepare(self.stream)
        self.time_base = fraction(self.stream.time_base) or Fraction(1, 1000)
        self.rate = rate_of(self.stream)
        self.damage = Damage()
        self._left: Fraction | None = None
        self._whole = True
        self._read = 0
        self._ends = [Fraction(0), Fraction(0)]
        self._past: set[int] = set()
        self._latest: int | None = None
        self._earliest: int | None = None
        self._widest = 0
        self._unseen: set[int] = set()
        self._one_each = self.stream.codec_context.codec.canonical_name in _ONE_EACH

    def start(self) -> Fraction:
        """Return the seconds of the container's clock where its contents begin."""
        start = start_of(self.container)
        if self.container.format.name == "mpegts":
            return start  # below 0 just before its clock wraps around
        # Else that is priming of an audio codec: the pictures begin at 0, or where they say.
        own = (self.stream.start_time or 0) * self.time_base
        return max(start, min(own, Fraction(0)))

    def seek(self, seconds: Fraction) -> bool:
        """Go to a key frame before `seconds` of the container's clock; whether that worked."""
        try:
            self.container.seek(floor(seconds / self.time_base), stream=self.stream)
        except (av.FFmpegError, OSError):
            return False
        self._whole = False
        return True

    def leave(self, end: Fraction) -> None:
        """Decode no more; only read on for packets before `end` seconds that lie further back."""
        self._left = end

    def forget(self, ticks: int) -> None:
        """Care no longer for what was wrong before that time."""
        self.damage = Damage()
        self._earliest = ticks

    def pictures(self) -> Iterator[VideoFrame | Packet[Any]]:
        """Decode the video; an error costs its packet only."""
        for packet in self._packets():
            self.damage.torn += packet.is_corrupt
            if not self._is_video(packet):
                yield packet
            elif self._left is None:
                yield from self._decoded(packet)
        if self._left is None:
            yield from self._decoded(None)
        self._count_unseen()
        if self._file is not None and self.damage.short is None:
            name = self.container.format.name
            self.damage.short = cut_short(self._file, name, self._left is None)
        if self._left is None and self.damage and self._file is not None:
            yield from self._tail(self._file)
            self._count_unseen()

    @property
    def _file(self) -> Path | None:
        return self._place if isinstance(self._place, Path) and self._place.is_file() else None

    def _count_unseen(self) -> None:
        """Count packets of the clip that gave no picture, where that is certain to be a loss.

        What lies before the first picture may rest on one that was never there.
        """
        first, last = self._earliest, self._latest
        if not self._one_each or first is None or last is None:
            return
        until = None if self._left is None else last
        unseen = sum(first < t and (until is None or t < until) for t in self._unseen)
        self.damage.swallowed = max(0, unseen - self.damage.undecodable)

    def _see(self, frame: VideoFrame) -> None:
        """Note when the picture is shown."""
        # Two fields may come in a packet each.
        self._one_each &= not frame.interlaced_frame
        if frame.pts is None:
            return
        self._unseen.discard(frame.pts)
        if self._earliest is None:
            self._earliest = frame.pts
        if self._latest is not None:
            self._widest = max(self._widest, frame.pts - self._latest)
        self._latest = frame.pts if self._latest is None else max(frame.pts, self._latest)

    def _decoded(self, packet: Packet[Any] | None) -> list[VideoFrame]:
        if packet is not None and packet.pts is not None and not packet.is_discard:
            self._unseen.add(packet.pts)
        try:
            frames = self.stream.decode(packet)
        except EOFError:
            return []
        except (av.FFmpegError, ValueError):
            self.damage.undecodable += 1
            return []
        for frame in frames:
            self._see(frame)
        return frames

    def _tail(self, place: Path) -> Iterator[VideoFrame]:
        """Decode the end of a damaged input once more, in a single thread.

        Frame threads that meet an error while being emptied keep what is behind it.
        """
        if self._latest is None:
            return
        with open_input(place) as container:
            stream = choose_stream(container, self._what)
            stream.codec_context.thread_type = "NONE"
            with suppress(av.FFmpegError, OSError):
                container.seek(self._latest, stream=stream)
            with suppress(av.FFmpegError, OSError, IndexError):
                for packet in container.demux(stream):
                    if packet.size:
                        yield from self._later(stream, packet)
            yield from self._later(stream, None)

    def _later(self, stream: VideoStream, packet: Packet[Any] | None) -> list[VideoFrame]:
        """Decode; keep what is later than everything so far."""
        try:
            frames = stream.decode(packet)
        except (av.FFmpegError, ValueError):
            return []
        latest = self._latest or 0
        found = [frame for frame in frames if frame.pts is not None and frame.pts > latest]
        self._unseen.difference_update(frame.pts for frame in found)
        return found

    def _packets(self) -> Iterator[Packet[Any]]:
        """Read packets; an error of the container is counted and reading goes on."""
        errors = 0
        while errors <= _GIVE_UP:
            try:
                for packet in self.container.demux():
                    if packet.size == 0:
                        # The end of a stream; with a time: AVI's "the same picture again".
                        self._read += packet.dts is not None and self._is_video(packet)
                        continue
                    errors = 0
                    if self._finished(packet):
                        return
                    yield packet
                break
            except IndexError:
                # PyAV trips over streams that appear in the middle, once it has read to the end.
                self.damage.appeared = True
                break
            except (av.FFmpegError, OSError) as error:
                errors += 1
                if errors == 1:
                    self.damage.reading.append(reason(error))
        if self._left is None:
            self.damage.short = shortfall(
                self.container,
                self.stream,
                self._read if self._whole else None,
                (self._ends[0], self._ends[1]),
                1 / self.rate,
                self._widest * self.time_base,
            )

    def _is_video(self, packet: Packet[Any]) -> bool:
        return bool(packet.stream.index == self.stream.index)

    def _finished(self, packet: Packet[Any]) -> bool:
        """Note how far the streams have come; whether all have passed the clip's end."""
        video = self._is_video(packet)
        base = fraction(packet.stream.time_base) or Fraction(0)
        stamp = packet.dts if packet.dts is not None else packet.pts
        self._read += video
        if stamp is None:
            return False
        shown = max(stamp, packet.pts if packet.pts is not None else stamp)
        kind = 0 if video else 1
        self._ends[kind] = max(self._ends[kind], (shown + (packet.duration or 0)) * base)
        if self._left is None:
            return False
        time = stamp * base
        if time >= self._left:
            self._past.add(packet.stream.index)
        waited_for = {s.index for s in self.container.streams.audio} | {self.stream.index}
        return waited_for <= self._past or (video and time >= self._left + _ROOM)
