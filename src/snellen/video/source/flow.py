"""One reading of an input: its frames made progressive, timed and cut, with packets between them.

Frames pass the methods of a `Flow` from the last one to the first: each takes what the next one
below it yields.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from av.packet import Packet
from av.video.frame import VideoFrame

from snellen.frames.frame import Format, Frame
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.media import Change, Item, PictureInfo
from snellen.video.side_data import SideDataReader
from snellen.video.source.filters import Cropper
from snellen.video.source.headers import Depth
from snellen.video.source.progressive import Progressive
from snellen.video.source.read import Reader
from snellen.video.source.recolour import Recolour
from snellen.video.source.stream_info import picture_info
from snellen.video.source.watcher import Watcher
from snellen.video.timestamps import Clock

_Timed = tuple[VideoFrame, int, Recolour | None]
"""A frame, its time in ticks, and what converts its samples."""


class Flow:
    """The frames of a clip, from where a reader stands: at the beginning, or before the clip.

    `given` describes the film's first frame, where these come later. `stretch` and `depth` are as
    of `headers.Pace` and `headers.depth_of`.

    Attributes
    ----------
    clock : Clock
        Times of the frames, in ticks of `time_base` seconds.
    begin, end : Fraction
        Where the clip begins and ends, in seconds of the container's clock; `end` is None where it
        is not known.
    picture, zero : PictureInfo, Fraction
        From the first frame on: its description, and the seconds of the container's clock that are
        time 0 of the frames.
    variable_rate, cut_short : bool
        Whether frames lasted unlike the rate so far; whether the clip, or a change of the format,
        ended them.
    transparent : int
        Frames so far that are transparent somewhere, where the first one was not.
    """

    picture: PictureInfo
    zero: Fraction

    def __init__(
        self,
        reader: Reader,
        fields: Progressive,
        clip: Clip,
        given: PictureInfo | None = None,
        stretch: Fraction = Fraction(1),
        depth: Depth | None = None,
    ) -> None:
        self._stretch, self._depth = stretch, depth
        self._reader, self._fields, self._clip, self._given = reader, fields, clip, given
        self.time_base = stretch * reader.time_base / fields.ticks
        self.cropper = Cropper(reader.container, reader.stream, reader.time_base)
        self.clock = Clock(self.time_base, Fraction(1))
        self._set_rate()
        self._set_begin(stretch * reader.start() + (clip.start or 0))
        self._count = 0
        self.cut_short = False
        self._shape: tuple[int, int, int, tuple[int, int] | None] | None = None
        self.with_alpha = True  # of the first frame, before it is known
        self.variable_rate, self.transparent = False, 0

    @property
    def changes(self) -> tuple[Change, ...]:  # noqa: D102
        return self._watcher.changes(self.time_base, self.zero)

    @property
    def has_decoded(self) -> bool:
        """Return whether any frame was decoded, in the clip or before it."""
        return self._shape is not None

    def items(self) -> Generator[Item, None, Item]:
        """Yield each frame with the packets before it; a frame lasts until the next one.

        The generator returns one more item: without a frame, with the packets behind the last one.
        """
        packets: list[Packet[Any]] = []
        held: _Timed | None = None
        for one in self._cut():
            if isinstance(one, Packet):
                packets.append(one)
                continue
            if held is not None:
                yield self._item(held, one[1] - held[1], packets)
                packets = []
            held = one
        if held is not None:
            known = not self._fields.filtered and self._stretch == 1
            own = held[0].duration * self._fields.ticks if known else 0
            duration = self._last_duration or own or round(self.clock.step)
            yield self._item(held, duration, packets)
            packets = []
        return Item(None, tuple(packets), self.end)

    def _set_rate(self) -> None:
        self.rate = self._reader.rate / self._stretch * self._fields.rate
        self.clock.step = 1 / (self.rate * self.time_base)
        slack = 2 * self._fields.ticks  # 1/30 s is 33 or 34 ms
        self._steady = ceil(self.clock.step - slack), floor(self.clock.step + slack)

    def _set_begin(self, begin: Fraction) -> None:
        self.begin = begin
        self.end = None if self._clip.duration is None else begin + self._clip.duration

    def _item(self, timed: _Timed, duration: int, packets: list[Packet[Any]]) -> Item:
        frame, ticks, convert = timed
        least, most = self._steady
        self.variable_rate |= not least <= duration <= most
        pts = round(ticks - self._zero_ticks)
        planes = pixels.planes(frame)
        shown = Frame(planes if convert is None else convert(planes), pts, duration)
        if self.picture.alpha:
            if self.with_alpha:
                shown = replace(shown, alpha=pixels.opacity(frame))
            elif self.picture.opaque:
                self.transparent += not pixels.is_opaque(frame)
        return Item(shown, tuple(packets), self.end)

    def _cut(self) -> Iterator[_Timed | Packet[Any]]:
        """Leave out frames outside the clip; end where the clip or the pictures' format ends."""
        self._last_duration = 0
        last = 0
        for one in self._timed():
            if isinstance(one, Packet):
                yield one
                continue
            frame, ticks = one
            cut = self._clip.is_part or self.end is not None or not self._count
            time = ticks * self.time_base if cut else Fraction(0)  # which nobody reads
            if self.cut_short or (self._clip.start is not None and time < self.begin):
                continue
            if self._count == 0:
                self._begin_with(frame, time)
            if self._count == self._clip.frames or (self.end is not None and time >= self.end):
                self._last_duration = ticks - last
                self._end_clip(time)
                continue
            self._reader.damage.corrupt += frame.is_corrupt
            self._count += 1
            last = ticks
            yield frame, ticks, self._watcher.see(frame, ticks)

    def _end_clip(self, time: Fraction) -> None:
        """End the clip at `time` seconds of the container's clock."""
        self.end = time if self.end is None else min(time, self.end)
        self.cut_short = True
        self._reader.end_clip(self.end / self._stretch)

    def _begin_with(self, frame: VideoFrame, time: Fraction) -> None:
        """Describe the pictures by the first frame, and count times from it or the beginning."""
        if self._clip.start is None and time < self.begin:
            self._set_begin(time)
        self._set_rate()
        self.zero = time if self._clip.start is not None else self.begin
        zero = self.zero / self.time_base
        self._zero_ticks = zero.numerator if zero.denominator == 1 else zero
        side, stream = SideDataReader(), self._reader.stream
        own = picture_info(self._reader.container, stream, frame, side(frame))
        if self._depth is not None:
            own = self._depth.described(own)
        given = self._given
        alike = given is not None and shape_of(own.format) == shape_of(given.format)
        self.picture = given if given is not None and alike else own
        self._watcher = Watcher(stream, self.picture, side)
        if self._clip.start is not None:
            self._reader.forget(round(time / self._stretch / self._reader.time_base))

    def _timed(self) -> Iterator[tuple[VideoFrame, int] | Packet[Any]]:
        """Give every frame a time later than the one before."""
        for one in self._reader.decode():
            if isinstance(one, Packet):
                yield one
                continue
            change = self._format_change(one)
            yield from self._pushed(None if change else one)
            if change and not self.cut_short:
                self._reader.damage.ending = change
                ended = None if one.pts is None else one.pts * self._fields.ticks
                self._end_clip(self.clock(ended) * self.time_base)
        if not self.cut_short:
            yield from self._pushed(None)

    def _pushed(self, frame: VideoFrame | None) -> Iterator[tuple[VideoFrame, int]]:
        for one, ticks in self._fields.push(frame, self.clock.step):
            yield self._shown(one), self.clock(ticks)

    def _shown(self, frame: VideoFrame) -> VideoFrame:
        """Return the part of a frame that is shown, in the depth that its file states."""
        shown = self.cropper(frame)
        if self._depth is not None and not self._count and not self._depth.fits(shown):
            self._depth = None
        return shown if self._depth is None else self._depth.frame(shown)

    def _format_change(self, frame: VideoFrame) -> str | None:
        """Return how the frame's format differs from the first one's; None: it does not."""
        layout = pixels.parse(frame.format.name)
        shape = (frame.width, frame.height, layout.bits, layout.subsampling)
        self._shape = self._shape or shape
        if shape == self._shape:
            return None
        return (
            f"the picture changes from {self._shape[0]}×{self._shape[1]} to {shape[0]}×{shape[1]} "
            f"({layout.name}) after {self._count} frames: what follows is left out"
        )


def shape_of(format: Format) -> tuple[object, ...]:
    """Return what may not change within a film."""
    return format.width, format.height, format.bits, format.subsampling
