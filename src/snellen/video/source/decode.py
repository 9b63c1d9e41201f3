"""Opens an input and yields its frames, timed and cut, with the packets that are not decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any, BinaryIO, cast

from av.packet import Packet
from av.stream import Stream
from av.video.frame import VideoFrame

from snellen.errors import InputError
from snellen.frames.frame import Frame
from snellen.frames.opening import InputFile, is_stream
from snellen.process import Home
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.ffmpeg import name, start_of
from snellen.video.media import Content, Item, MediaInfo, PictureInfo, SourceReport
from snellen.video.pipes import Incoming
from snellen.video.source import nvdec
from snellen.video.source.damage import promised_packets, torn_y4m, total_frames
from snellen.video.source.pictures import FORMAT, Pictures
from snellen.video.source.progressive import Progressive
from snellen.video.source.read import Reader
from snellen.video.source.stream_info import chapters_of, picture_info, stream_info
from snellen.video.timestamps import Clock

LEAD = Fraction(1)
"""Seconds before a clip's start at which reading begins, for audio that is stored early."""
_FURTHER = 4
"""Where that was too late, as it may be in transport streams, it begins so much further back."""
_UNCERTAIN = 100
"""Where the number of frames is computed from a duration, one in so many may be missing."""


class Source:
    """An open input whose first frame has been decoded.

    Parameters
    ----------
    source : Path, BinaryIO or Pictures
        A video file, a binary stream of y4m, or image files.
    clip : Clip
        Which part of it.
    decoder : str
        "auto", "cpu" or "nvdec".
    lead : Fraction
        Seconds before the clip's start at which reading begins.
    looked, content
        As of `Progressive`: what looking at the film has found before.
    cycle : Fraction, optional
        Seconds of the container's clock at which a cycle of telecine begins; frames before it are
        left out. None: the first one begins with the first frame that is decoded.

    Attributes
    ----------
    name : str
        What messages call the input.
    info : MediaInfo
        Description of the input.
    busy : bool
        Whether a thread reads it: then `close` leaves the container open, since closing it under
        the thread would crash.
    """

    def __init__(
        self,
        source: Path | BinaryIO | Pictures,
        clip: Clip,
        decoder: str = "auto",
        *,
        lead: Fraction = LEAD,
        looked: bool = False,
        content: Content | None = None,
        cycle: Fraction | None = None,
    ) -> None:
        self._lead, self._looked, self._content = lead, looked, content
        self._cycle = cycle
        self._pictures = source if isinstance(source, Pictures) else None
        self.name = source.name if isinstance(source, Pictures) else name(source)
        self.busy, self._home = False, Home("this input")
        self._clip = clip
        self._variable_rate, self._transparent = False, 0
        self._with_alpha = True  # of the first frame, before it is known
        self._pipe: InputFile | None = None
        self._file: Path | Incoming
        if isinstance(source, Pictures):
            self._file = Incoming(cast("BinaryIO", source), format=FORMAT, title=source.name)
        elif not isinstance(source, Path):
            self._file = Incoming(source)
        elif is_stream(source):
            self._pipe = InputFile(source)
            self._file = Incoming(self._pipe, format=None, title=str(source))
        else:
            self._file = source
        hardware, notice = nvdec.choose(decoder, self._file, self.name, clip.map)
        self._hardware = hardware
        self._open(seek=True)
        try:
            self._first = self._first_item()
            while self._seeked_too_far():
                self.close()
                self._lead *= _FURTHER
                self._open(seek=self._clock.missing == 0)
                self._first = self._first_item()
            if self._first.frame is None:
                raise self._no_frame()
            self.info = self._describe(notice)
        except BaseException:
            self.close()
            raise

    @property
    def templates(self) -> Mapping[int, Stream]:
        """FFmpeg's streams by index, on which an output models the streams that it copies."""
        return {stream.index: stream for stream in self._reader.container.streams}

    def items(self, alpha: bool = False) -> Iterator[Item]:
        """Yield frames, their times counted from the clip's start, and packets between them.

        The last item has no frame; it carries the packets behind the last frame, and the report.
        `alpha`: whether the frames have their alpha channel, if there is one.
        """
        self._with_alpha = alpha
        first = self._first
        if not alpha and first.frame is not None:
            first = replace(first, frame=replace(first.frame, alpha=None))
        yield first
        yield from self._flow

    def report(self) -> SourceReport:
        """Return what reading has found so far; complete in the last item."""
        pictures = self._pictures
        return SourceReport(
            (*(pictures.damage() if pictures else ()), *self._reader.damage.describe()),
            self._clock.moved,
            self._variable_rate,
            self._fields.notice,
            pictures.losses() if pictures else (),
            self._transparent,
        )

    def stop(self) -> None:
        """Let no thread wait any longer for a pipe that gives nothing."""
        if isinstance(self._file, Incoming):
            self._file.stop()

    def close(self) -> None:
        """Close the container; the planes of frames stay valid."""
        if not self.busy and not self._home.keep(self.__dict__):
            self._reader.close()
            if self._pipe is not None:
                self._pipe.close()

    # Opening: the first frame gives the pictures' properties and time 0.

    def _open(self, seek: bool) -> None:
        self._reader = Reader(self._file, self.name, self._hardware, self._clip.map)
        base, cycle = self._reader.time_base, self._cycle
        self._fields = Progressive(
            self._clip, self._reader.stream, base, self._path, self.name, self._looked,
            self._content, None if cycle is None else round(cycle / base),
        )  # fmt: skip
        self._time_base = self._reader.time_base / self._fields.ticks
        self._clock = Clock(self._time_base, Fraction(1))
        self._set_rate()
        self._set_begin(self._reader.start() + (self._clip.start or 0))
        self._count = 0
        self._ended = False
        self._shape: tuple[int, int, int, tuple[int, int] | None] | None = None
        first = self._begin if self._cycle is None else self._cycle
        far = first - self._reader.start() > self._lead and self._path is not None
        self._seeked = seek and far and self._reader.seek(first - self._lead)
        self._flow = self._items()

    def _set_rate(self) -> None:
        self._rate = self._reader.rate * self._fields.rate
        self._clock.step = 1 / (self._rate * self._time_base)
        slack = 2 * self._fields.ticks  # 1/30 s is 33 or 34 ms
        self._steady = ceil(self._clock.step - slack), floor(self._clock.step + slack)

    def _set_begin(self, begin: Fraction) -> None:
        self._begin = begin
        self._end = None if self._clip.duration is None else begin + self._clip.duration

    def _first_item(self) -> Item:
        """Decode up to the first frame of the clip; an interrupt of a pipe ends it."""
        first = next(self._flow)
        if isinstance(self._file, Incoming):
            self._file.check()
        return first

    def _seeked_too_far(self) -> bool:
        """Return whether seeking missed the clip's start, or frames have no times after it."""
        if not self._seeked:
            return False
        first = self._clock.first
        wanted = self._begin if self._cycle is None else self._cycle
        late = first is None or first * self._time_base > wanted
        return late or self._clock.missing > 0

    def _no_frame(self) -> InputError:
        if self._shape is not None and self._clip.is_part:
            start = self._clip.start or Fraction(0)
            where = f"at or after {float(start):g} s"
            if self._clip.duration is not None:
                where = f"from {float(start):g} s to {float(start + self._clip.duration):g} s"
            cut = "duration" if self._clip.start is None else "start"
            return InputError(f"{self.name} has no frame {where}", parameter=cut)
        why = "; ".join(self._reader.damage.describe())
        return InputError(
            f"{self.name}: not one frame could be decoded" + (f" ({why})" if why else "")
        )

    @property
    def _path(self) -> Path | None:
        return self._file if isinstance(self._file, Path) and self._file.is_file() else None

    def _describe(self, notice: str | None) -> MediaInfo:
        container, stream = self._reader.container, self._reader.stream
        frames = self._total()
        picture = self._picture
        if self._pictures is not None:
            picture = replace(picture, losses=(*picture.losses, *self._pictures.lost))
        return MediaInfo(
            name=self.name,
            path=self._path,
            container=container.format.name,
            tags=dict(container.metadata),
            start=start_of(container),
            streams=tuple(stream_info(s) for s in container.streams),
            video_index=stream.index,
            chapters=chapters_of(container),
            picture=picture,
            time_base=self._time_base,
            rate=self._rate,
            clip=self._clip,
            zero=self._zero,
            end=self._end,
            frames=frames,
            least_frames=self._least(frames or 0),
            decoder="nvdec" if self._hardware else "cpu",
            decoder_notice=notice,
            fields_notice=self._fields.notice,
            content=self._fields.content,
            made_progressive=self._fields.label if self._fields.filtered else None,
        )

    def _total(self) -> int | None:
        """Return how many frames to expect in the clip; None: unknown."""
        clip = self._clip
        total = total_frames(self._reader.container, self._reader.stream, self._reader.rate)
        if self._pictures is not None:
            total = self._pictures.count
        if total is not None:
            total = ceil(total * self._fields.rate)
        if total is not None and clip.start is not None:
            total = max(1, total - int(clip.start * self._rate))
        if clip.duration is not None:
            limit = max(1, round(clip.duration * self._rate))
            total = limit if total is None else min(total, limit)
        if clip.frames is not None:
            total = clip.frames if total is None else min(total, clip.frames)
        return total

    def _least(self, total: int) -> int:
        """Return how many of `total` frames will come for certain."""
        cut = self._clip.start is not None or self._clip.duration is not None
        promised = promised_packets(self._reader.container, self._reader.stream)
        exact = not cut and promised is not None and self._fields.rate == 1
        return total if exact else total - total // _UNCERTAIN

    # The flow: reader → deinterlaced → timed → cut → items.

    def _items(self) -> Iterator[Item]:
        """Combine each frame with the packets before it; a frame lasts until the next one."""
        packets: list[Packet[Any]] = []
        held: tuple[VideoFrame, int] | None = None
        for one in self._cut():
            if isinstance(one, Packet):
                packets.append(one)
                continue
            if held is not None:
                yield self._item(held, one[1] - held[1], packets)
                packets = []
            held = one
        if held is not None:
            own = 0 if self._fields.filtered else held[0].duration * self._fields.ticks
            duration = self._last_duration or own or round(self._clock.step)
            yield self._item(held, duration, packets)
            packets = []
            if self._reader.container.format.name == "yuv4mpegpipe" and not self._ended:
                self._reader.damage.short = torn_y4m(self._file, self._picture.format)
        yield Item(None, tuple(packets), self._end, self.report())

    def _item(
        self, timed: tuple[VideoFrame, int], duration: int, packets: list[Packet[Any]]
    ) -> Item:
        frame, ticks = timed
        least, most = self._steady
        self._variable_rate |= not least <= duration <= most
        pts = round(ticks - self._zero_ticks)
        shown = Frame(pixels.planes(frame), pts, duration)
        if self._picture.alpha:
            if self._with_alpha:
                shown = replace(shown, alpha=pixels.opacity(frame))
            elif self._picture.opaque:
                self._transparent += not pixels.is_opaque(frame)
        return Item(shown, tuple(packets), self._end)

    def _cut(self) -> Iterator[tuple[VideoFrame, int] | Packet[Any]]:
        """Leave out frames outside the clip; end where the clip or the pictures' format ends."""
        self._last_duration = 0
        last = 0
        for one in self._timed():
            if isinstance(one, Packet):
                yield one
                continue
            frame, ticks = one
            cut = self._clip.is_part or self._end is not None or not self._count
            time = ticks * self._time_base if cut else Fraction(0)  # which nobody reads
            if self._ended or (self._clip.start is not None and time < self._begin):
                continue
            if self._count == 0:
                self._begin_with(frame, time)
            if self._count == self._clip.frames or (self._end is not None and time >= self._end):
                self._last_duration = ticks - last
                self._end_clip(time)
                continue
            self._reader.damage.corrupt += frame.is_corrupt
            self._count += 1
            last = ticks
            yield frame, ticks

    def _end_clip(self, time: Fraction) -> None:
        """End the clip at `time` seconds of the container's clock."""
        self._end = time if self._end is None else min(time, self._end)
        self._ended = True
        self._reader.end_clip(self._end)

    def _begin_with(self, frame: VideoFrame, time: Fraction) -> None:
        """Describe the pictures by the first frame, and count times from it or the beginning."""
        if self._clip.start is None and time < self._begin:
            self._set_begin(time)
        self._set_rate()
        self._zero = time if self._clip.start is not None else self._begin
        zero = self._zero / self._time_base
        self._zero_ticks = zero.numerator if zero.denominator == 1 else zero
        self._picture: PictureInfo = picture_info(
            self._reader.container, self._reader.stream, frame
        )
        if self._clip.start is not None:
            self._reader.forget(round(time / self._reader.time_base))

    def _timed(self) -> Iterator[tuple[VideoFrame, int] | Packet[Any]]:
        """Give every frame a time later than the one before."""
        for one in self._reader.decode():
            if isinstance(one, Packet):
                yield one
                continue
            change = self._format_change(one)
            for frame, ticks in self._fields.push(None if change else one, self._clock.step):
                yield frame, self._clock(ticks)
            if change and not self._ended:
                self._reader.damage.ending = change
                ended = None if one.pts is None else one.pts * self._fields.ticks
                self._end_clip(self._clock(ended) * self._time_base)
        if not self._ended:
            for frame, ticks in self._fields.push(None, self._clock.step):
                yield frame, self._clock(ticks)

    def _format_change(self, frame: VideoFrame) -> str | None:
        """Return how the frame's format differs from the first one's; None: it does not."""
        layout = pixels.parse(frame.format.name)
        shape = (frame.width, frame.height, layout.bits, layout.subsampling)
        if self._shape is None:
            self._shape = shape
        if shape == self._shape:
            return None
        return (
            f"the picture changes from {self._shape[0]}×{self._shape[1]} to {shape[0]}×{shape[1]} "
            f"({layout.name}) after {self._count} frames: what follows is left out"
        )
