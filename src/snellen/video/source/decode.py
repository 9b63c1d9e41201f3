"""Container → Frame: reads, decodes, times and cuts; what is not decoded travels beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.frames.frame import Frame
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.pipes import Incoming
from snellen.video.source import nvdec
from snellen.video.source.damage import Damage, promised_packets, torn_y4m, total_frames
from snellen.video.source.filters import Deinterlacer
from snellen.video.source.open import Look, is_interlaced, look, name
from snellen.video.source.read import Reader
from snellen.video.timestamps import Clock

_RUN_UP = Fraction(1)
"""Seconds before a clip's start that reading begins, for audio that lies early."""
_ROUGH = 100
"""One in so many frames may be missing where only a duration tells how many there are."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One step along the road: a frame (None: the last parcel) and packets read before it."""

    frame: Frame | None
    packets: tuple[Packet[Any], ...] = ()


class Source:
    """An open input, its first frame already decoded and looked at.

    Attributes
    ----------
    look : what the pictures are
    time_base : seconds a tick of the frames' times
    rate : frames a second, on average
    zero : seconds of the container's clock that become 0
    end : seconds of the container's clock where the clip ends; None: nowhere or not yet known
    variable : whether frames so far lasted differently long
    decoder : "cpu" or "nvdec"
    notice : why it is not the decoder that was asked for; None: it is
    busy : set when a thread that could not be stopped still reads: then `close` leaves it be
    """

    look: Look
    zero: Fraction

    def __init__(self, source: Path | BinaryIO, clip: Clip, decoder: str = "auto") -> None:
        self.name = name(source)
        self.clip = clip
        self.busy = False
        self.variable = False
        self._place = source if isinstance(source, Path) else Incoming(source)
        hardware, self.notice = nvdec.wanted(decoder, self._place, self.name)
        self.decoder = "nvdec" if hardware else "cpu"
        self._open(seek=True)
        try:
            self._first = self._begun()
            if self._late():
                self.close()
                self._open(seek=False)
                self._first = self._begun()
            if self._first.frame is None:
                raise self._nothing()
        except BaseException:
            self.close()
            raise

    def _open(self, seek: bool) -> None:
        self.reader = Reader(self._place, self.name, self.decoder == "nvdec")
        self.time_base, self.rate = self.reader.time_base, self.reader.rate
        self.clock = Clock(self.time_base, 1 / (self.rate * self.time_base))
        self._set_begin(self.reader.start() + (self.clip.start or 0))
        self._count = 0
        self._cut = False
        self._deinterlacer: Deinterlacer | None = None
        self._shape: tuple[int, int, int, tuple[int, int] | None] | None = None
        far = (self.clip.start or 0) > _RUN_UP and self.place is not None
        self._seeked = seek and far and self.reader.seek(self._begin - _RUN_UP)
        self._flow = self._parcels()

    def _set_begin(self, begin: Fraction) -> None:
        self._begin = begin
        self.end = None if self.clip.duration is None else begin + self.clip.duration

    def _begun(self) -> Parcel:
        """Go as far as the first frame; an interrupt on the way ends it."""
        first = next(self._flow)
        if isinstance(self._place, Incoming):
            self._place.check()
        return first

    @property
    def container(self) -> InputContainer:
        """FFmpeg's container."""
        return self.reader.container

    @property
    def stream(self) -> VideoStream:
        """The video stream that is worked on."""
        return self.reader.stream

    @property
    def damage(self) -> Damage:
        """What could not be read; complete when `parcels` ends."""
        return self.reader.damage

    def _late(self) -> bool:
        """Whether seeking went too far, or the times after it are made up."""
        if not self._seeked:
            return False
        first = self.clock.first
        late = first is None or first * self.time_base > self._begin
        return late or self.clock.missing > 0

    def _nothing(self) -> InputError:
        if self._shape is not None and self.clip_is_part:
            start = self.clip.start or Fraction(0)
            where = f"at or after {float(start):g} s"
            if self.clip.duration is not None:
                where = f"from {float(start):g} s to {float(start + self.clip.duration):g} s"
            return InputError(f"{self.name} has no frame {where}")
        why = "; ".join(self.damage.words())
        return InputError(
            f"{self.name}: not one frame could be decoded" + (f" ({why})" if why else "")
        )

    @property
    def place(self) -> Path | None:
        """The input as a file that can be opened once more; None: a stream or pipe."""
        return self._place if isinstance(self._place, Path) and self._place.is_file() else None

    @property
    def clip_is_part(self) -> bool:
        """Whether a part was asked for, so that numbers about the whole no longer hold."""
        return self.clip.is_part

    def total(self) -> int | None:
        """Return how many frames will come, as far as can be told."""
        total = total_frames(self.container, self.stream, self.rate)
        if total is not None and self.clip.start is not None:
            total = max(1, total - int(self.clip.start * self.rate))
        if self.clip.duration is not None:
            limit = max(1, round(self.clip.duration * self.rate))
            total = limit if total is None else min(total, limit)
        if self.clip.frames is not None:
            total = self.clip.frames if total is None else min(total, self.clip.frames)
        return total

    def least(self) -> int:
        """Return how many frames will come at least, as far as can be told; 0: it cannot."""
        total = self.total() or 0
        cut = self.clip.start is not None or self.clip.duration is not None
        exact = not cut and promised_packets(self.container, self.stream) is not None
        return total if exact else total - total // _ROUGH

    def parcels(self) -> Iterator[Parcel]:
        """Yield frames, their times counted from the clip's start, and packets between them."""
        yield self._first
        yield from self._flow

    def stop(self) -> None:
        """Wait no more for a pipe that gives nothing."""
        if isinstance(self._place, Incoming):
            self._place.stop()

    def close(self) -> None:
        """Close the container; planes of frames stay valid."""
        if not self.busy:
            self.reader.container.close()

    def _parcels(self) -> Iterator[Parcel]:
        """Pair each frame with the packets before it; a frame lasts until the next one."""
        packets: list[Packet[Any]] = []
        held: tuple[VideoFrame, int] | None = None
        for item in self._chosen():
            if isinstance(item, Packet):
                packets.append(item)
                continue
            if held is not None:
                yield self._parcel(held, item[1] - held[1], packets)
                packets = []
            held = item
        if held is not None:
            own = held[0].duration if self._deinterlacer is None else 0
            duration = self._lasting or own or round(self.clock.step)
            yield self._parcel(held, duration, packets)
            packets = []
            if self.container.format.name == "yuv4mpegpipe" and not self._cut:
                self.damage.short = torn_y4m(self._place, self.look.format)
        yield Parcel(None, tuple(packets))

    def _parcel(
        self, item: tuple[VideoFrame, int], duration: int, packets: list[Packet[Any]]
    ) -> Parcel:
        frame, ticks = item
        # Two ticks of slack: 1/30 s is 33 or 34 ms.
        self.variable |= abs(duration - self.clock.step) > 2
        pts = round(ticks - self.zero / self.time_base)
        return Parcel(Frame(pixels.planes(frame), pts, duration), tuple(packets))

    def _chosen(self) -> Iterator[tuple[VideoFrame, int] | Packet[Any]]:
        """Leave out frames outside the clip; stop where it ends or the picture's form changes."""
        self._lasting = 0
        last = 0
        for item in self._timed():
            if isinstance(item, Packet):
                yield item
                continue
            frame, ticks = item
            time = ticks * self.time_base
            if self._cut or (self.clip.start is not None and time < self._begin):
                continue
            if self._count == 0:
                self._meet(frame, time)
            if self._count == self.clip.frames or (self.end is not None and time >= self.end):
                self._lasting = ticks - last
                self._leave(time)
                continue
            self.damage.corrupt += frame.is_corrupt
            self._count += 1
            last = ticks
            yield frame, ticks

    def _leave(self, time: Fraction) -> None:
        """End the clip at `time` seconds of the container's clock."""
        self.end = time if self.end is None else min(time, self.end)
        self._cut = True
        self.reader.leave(self.end)

    def _meet(self, frame: VideoFrame, time: Fraction) -> None:
        """Take the first frame as what all frames are."""
        if self.clip.start is None and time < self._begin:
            self._set_begin(time)
        self.zero = time if self.clip.start is not None else self._begin
        self.look = look(self.container, self.stream, frame)
        if self.clip.start is not None:
            self.reader.forget(round(time / self.time_base))

    def _timed(self) -> Iterator[tuple[VideoFrame, int] | Packet[Any]]:
        """Give every frame a time later than the one before."""
        for item in self.reader.pictures():
            if isinstance(item, Packet):
                yield item
                continue
            changed = self._changed(item)
            for frame, ticks in self._progressive(None if changed else item):
                yield frame, self.clock(ticks)
            if changed and not self._cut:
                self.damage.ending = changed
                self._leave(self.clock(item.pts) * self.time_base)
        if not self._cut:
            for frame, ticks in self._progressive(None):
                yield frame, self.clock(ticks)

    def _changed(self, frame: VideoFrame) -> str | None:
        """Say how the picture's form differs from the first one's."""
        made = pixels.describe(frame.format.name)
        shape = (frame.width, frame.height, made.bits, made.subsampling)
        if self._shape is None:
            self._shape = shape
        if shape == self._shape:
            return None
        return (
            f"the picture changes from {self._shape[0]}×{self._shape[1]} to {shape[0]}×{shape[1]} "
            f"({made.name}) after {self._count} frames: what follows is left out"
        )

    def _progressive(self, frame: VideoFrame | None) -> list[tuple[VideoFrame, int | None]]:
        """Deinterlace where it was asked for; None: give what is still inside."""
        if self._deinterlacer is not None:
            return self._deinterlacer.push(frame)
        if frame is None:
            return []
        if not is_interlaced(self.stream, frame):
            return [(frame, frame.pts)]
        if not self.clip.deinterlace:
            raise InputError(
                f"{self.name} is interlaced: each picture holds two moments that would be "
                "blended for good. Use --deinterlace to make progressive frames first"
            )
        self._deinterlacer = Deinterlacer(self.stream, frame, self.time_base)
        return self._deinterlacer.push(frame)
