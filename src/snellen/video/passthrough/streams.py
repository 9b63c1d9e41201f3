"""Everything that is copied: audio, subtitles, data, attachments, covers, chapters, tags."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import av
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Discard, Stream

from snellen.video.passthrough.capabilities import unheld, words
from snellen.video.passthrough.tags import copied_tags
from snellen.video.source.decode import Source
from snellen.video.source.open import PICTURE, open_input
from snellen.video.timestamps import Clock, fraction

_LOOK_FOR = 20000
"""Packets read to find the first of every stream."""

_PRIMING = Fraction(1, 10)
"""Seconds that an audio codec's priming may lie before 0; Opus has 80 ms."""

_IMAGES = {"mjpeg": ("image/jpeg", "jpg"), "png": ("image/png", "png")}
"""Codecs of covers that Matroska keeps as attachments, with MIME type and extension."""


@dataclass(eq=False)
class _Copy:
    """One stream on its way from container to container."""

    template: Stream
    base: Fraction
    clock: Clock | None
    """Keeps audio's times rising; two subtitles may well have the same time."""
    metadata: dict[str, str]
    out: Stream | None = None
    out_base: Fraction = Fraction(1)
    last: int | None = None
    latest: Fraction | None = None
    cover: bytes | None = None
    """A cover's picture: sent once, ahead of all packets."""
    first: Packet[Any] | None = None


@dataclass(order=True)
class _Held:
    time: Fraction
    number: int
    packet: Packet[Any] = field(compare=False)
    copy: _Copy = field(compare=False)


class Copier:
    """Copies what can be held, cut and shifted like the video, and names what cannot.

    Attributes
    ----------
    suffix : what to call the output's container
    losses : a sentence for each stream that the output cannot hold, or not all that is said of it
    notes : what else a user may want to know
    """

    def __init__(self, source: Source, muxer: str, suffix: str) -> None:
        self._source = source
        self._muxer = muxer
        self.suffix = suffix
        self.losses: list[str] = []
        self.notes: list[str] = []
        self._copies: dict[int, _Copy] = {}
        self._held: list[_Held] = []
        self._number = count()
        others = [s for s in source.container.streams if s.index != source.stream.index]
        others = [s for s in others if not _is_written_anew(s, source.stream)]
        first = _first_packets(source, others) if others else {}
        for stream in others:
            early = self._early(stream, first.get(stream.index))
            gone = self._take(stream, first.get(stream.index))
            if gone is None:
                self.losses.append(f"{words(stream)}: {suffix} cannot hold it")
                continue
            if gone:
                self.losses.append(f"{words(stream)}: {suffix} cannot hold its {', '.join(gone)}")
            if early > _PRIMING:
                self.notes.append(
                    f"{words(stream)} begins {float(early):.3g} s before the film: that part, "
                    f"which is not to be heard or seen, is left out, as {suffix} cannot skip it"
                )
            if stream.type == "video" and not stream.disposition & PICTURE:
                self.notes.append(f"{words(stream)} is copied as it is: only the best is worked on")

    def _early(self, stream: Stream, first: Packet[Any] | None) -> Fraction:
        """Return how many seconds before 0 the stream begins, where nothing would skip them."""
        if not self._matroska or self._source.clip.start is not None:
            return Fraction(0)
        if first is None or first.pts is None or stream.disposition & PICTURE:
            return Fraction(0)
        base = fraction(stream.time_base) or Fraction(1, 1000)
        return max(Fraction(0), self._source.zero - first.pts * base)

    def _take(self, stream: Stream, first: Packet[Any] | None) -> list[str] | None:
        """Copy the stream; return what of its description is lost, None: all of it."""
        base = fraction(stream.time_base) or Fraction(1, 1000)
        metadata = copied_tags(dict(stream.metadata), self._source, self._muxer)
        copy = _Copy(stream, base, None, metadata)
        gone: list[str] | None = []
        if stream.type == "audio":
            copy.clock = Clock(base, Fraction(1))
        if stream.disposition & PICTURE:
            copy.first = first
            copy.cover = bytes(first) if first is not None else None
            if copy.cover is None or (self._matroska and _codec(stream) not in _IMAGES):
                return None
        if not (self._matroska and copy.cover):
            gone = unheld(stream, first, self._muxer, metadata)
        if gone is not None:
            self._copies[stream.index] = copy
        return gone

    @property
    def _matroska(self) -> bool:
        return self._muxer == "matroska"

    @property
    def copies(self) -> int:
        """How many streams are copied."""
        return len(self._copies)

    def attach(self, out: OutputContainer) -> None:
        """Add the streams to the output, whose header is not written yet."""
        for copy in self._copies.values():
            metadata = dict(copy.metadata)
            if copy.cover is not None and self._matroska:
                mime, extension = _IMAGES[_codec(copy.template)]
                named = metadata.pop("filename", None) or f"cover.{extension}"
                attachment = out.add_attachment(named, mime, copy.cover)
                attachment.metadata.update(metadata)
                continue
            copy.out = out.add_stream_from_template(copy.template, opaque=True)
            copy.out.metadata.update(metadata)
            copy.out.disposition = copy.template.disposition

    def start(self) -> Iterator[Packet[Any]]:
        """Take the time bases that the header fixed; yield the covers."""
        for copy in self._copies.values():
            if copy.out is None:
                continue
            copy.out_base = fraction(copy.out.time_base) or copy.base
            if copy.cover is not None and copy.first is not None:
                packet = copy.first
                packet.pts = packet.dts = 0
                packet.time_base = copy.out_base
                packet.stream = copy.out
                yield packet

    def offer(self, packet: Packet[Any]) -> None:
        """Take a packet read from the input; it is kept until `due`."""
        copy = self._copies.get(packet.stream.index)
        if copy is None or copy.out is None or copy.cover is not None:
            return
        if packet.size <= 2 and _codec(copy.template) == "mov_text":
            return  # a gap: the muxer writes its own
        stamp = packet.dts if packet.dts is not None else packet.pts
        time = copy.latest or Fraction(0)
        if stamp is not None:
            if copy.clock is not None:
                copy.clock.step = Fraction(max(1, packet.duration or 1))
                moved = copy.clock(stamp) - stamp
                packet.dts = stamp + moved
                packet.pts = packet.dts if packet.pts is None else packet.pts + moved
            elif packet.pts is None:
                packet.pts = stamp
            if not self._cut_head(packet, copy):
                return
            stamp = packet.dts if packet.dts is not None else packet.pts
            time = (stamp or 0) * copy.base - self._source.zero
        copy.latest = time if copy.latest is None else max(time, copy.latest)
        heapq.heappush(self._held, _Held(copy.latest, next(self._number), packet, copy))

    def _cut_head(self, packet: Packet[Any], copy: _Copy) -> bool:
        """Whether the packet belongs to the clip's beginning; a subtitle is shortened to it.

        Of a whole film that is so in Matroska, which has no edit list that would skip the rest.
        """
        whole = self._source.clip.start is None
        if packet.pts is None or (whole and not self._matroska):
            return True
        zero = self._source.zero / copy.base
        if packet.pts >= zero:
            return True
        end = packet.pts + (packet.duration or 0)
        if whole and copy.template.type != "subtitle":
            return end > zero or packet.pts >= zero - _PRIMING / copy.base
        if copy.template.type != "subtitle" or end <= zero:
            return False
        packet.pts = packet.dts = round(zero)
        packet.duration = end - packet.pts
        return True

    def _cut_tail(self, packet: Packet[Any], copy: _Copy) -> bool:
        """Whether the packet begins before the clip's end; a subtitle is shortened to it."""
        end = self._source.end
        if end is None or packet.pts is None:
            return True
        ticks = round(end / copy.base)
        if packet.pts * copy.base >= end:
            return False
        if copy.template.type == "subtitle" and packet.pts + (packet.duration or 0) > ticks:
            packet.duration = max(1, ticks - packet.pts)
        return True

    def due(self, time: Fraction | None) -> Iterator[Packet[Any]]:
        """Yield packets up to `time` of the output (None: all), ready to be muxed."""
        while self._held and (time is None or self._held[0].time <= time):
            held = heapq.heappop(self._held)
            if self._cut_tail(held.packet, held.copy):
                yield self._ready(held.packet, held.copy)

    def _ready(self, packet: Packet[Any], copy: _Copy) -> Packet[Any]:
        """Give the packet its time in the output's clock."""
        zero = self._source.zero

        def out(ticks: int) -> int:
            return round((ticks * copy.base - zero) / copy.out_base)

        pts = None if packet.pts is None else out(packet.pts)
        dts = pts if packet.dts is None else out(packet.dts)
        duration = round((packet.duration or 0) * copy.base / copy.out_base)
        if dts is not None:
            if copy.last is not None:
                again = copy.template.type in ("subtitle", "data")
                dts = max(dts, copy.last if again else copy.last + 1)
            copy.last = dts
            pts = dts if pts is None else max(pts, dts)
        packet.pts, packet.dts, packet.duration = pts, dts, duration
        packet.time_base = copy.out_base
        assert copy.out is not None
        packet.stream = copy.out
        return packet


def _codec(stream: Stream) -> str:
    return stream.codec_context.codec.canonical_name if stream.codec_context else ""


def _is_written_anew(stream: Stream, video: Stream) -> bool:
    """Whether it is a track of mov or mp4 that the muxer makes itself, from chapters or a tag.

    Chapters are kept in a text track, which FFmpeg reads as data that nobody is to have; the time
    code in one of its own, and in the video's tag.
    """
    if stream.type != "data":
        return False
    code = stream.metadata.get("timecode")
    return stream.discard == Discard.all or (
        code is not None and code == video.metadata.get("timecode")
    )


def _first_packets(source: Source, streams: list[Stream]) -> dict[int, Packet[Any]]:
    """Return the first packet of each stream, read from the file opened once more."""
    found: dict[int, Packet[Any]] = {}
    place = source.place
    if place is None:
        return found
    wanted = {s.index for s in streams if s.type != "attachment"}
    with open_input(place) as container:
        try:
            for number, packet in enumerate(container.demux()):
                if packet.size and packet.stream.index in wanted:
                    found.setdefault(packet.stream.index, packet)
                if wanted <= found.keys() or number > _LOOK_FOR:
                    break
        except (av.FFmpegError, OSError, IndexError):
            pass  # damage is the reader's business
    return found
