"""Copies streams without decoding them: audio, subtitles, data, attachments and covers."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import count
from typing import Any

from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream

from snellen.errors import InputError
from snellen.video.media import MediaInfo, StreamInfo
from snellen.video.passthrough.audio import ENCODERS, convertible_audio, takes
from snellen.video.passthrough.select import Copy, Waiting, first_packets, lost_tags, others
from snellen.video.passthrough.subtitles import convertible
from snellen.video.passthrough.tags import copied_tags
from snellen.video.timestamps import Clock, fraction, stamp_of

_PRIMING = Fraction(1, 10)
"""Seconds that an audio codec's priming may begin before 0; Opus has 80 ms."""

_IMAGES = {"mjpeg": ("image/jpeg", "jpg"), "png": ("image/png", "png")}
"""Codecs of covers that Matroska keeps as attachments, with MIME type and extension."""


class Copier:
    """Copies the streams that the output can hold, cut and shifted like the video.

    Parameters
    ----------
    info : MediaInfo
    templates : Mapping of int to Stream
        FFmpeg's streams of the input by index, on which the copies are modelled.
    muxer, suffix : str
        FFmpeg's name of the output's container, and what messages call it.
    audio : str
        What becomes of audio: "copy", "aac", "opus" or "none".

    Attributes
    ----------
    end : Fraction or None
        Seconds of the input's clock where the clip ends; set anew when that becomes known.
    asked : frozenset of int
        Indices of the streams that are wanted beside the video.
    losses, notes : list of str
        A sentence for each stream that the output cannot hold, or whose description it loses; what
        else a user may want to know.
    """

    def __init__(
        self,
        info: MediaInfo,
        templates: Mapping[int, Stream],
        muxer: str,
        suffix: str,
        audio: str = "copy",
    ) -> None:
        self._info = info
        self._muxer, self._audio = muxer, audio
        self.suffix = suffix
        self.end = info.end
        self.losses: list[str] = []
        self.notes: list[str] = []
        self._copies: dict[int, Copy] = {}
        self._waiting: list[Waiting] = []
        self._number = count()
        found = [s for s in others(info) if s.type != "audio" or audio != "none"]
        self.asked = frozenset(stream.index for stream in found)
        self._check_audio(found)
        first = first_packets(info, found) if found else {}
        for stream in found:
            early = self._seconds_before_zero(stream, first.get(stream.index))
            lost = self._add(stream, templates[stream.index], first.get(stream.index))
            if lost is None:
                self.losses.append(f"{stream}: {suffix} cannot hold it" + self._advice(stream))
                continue
            if lost:
                self.losses.append(f"{stream}: {suffix} cannot hold its {', '.join(lost)}")
            if early > _PRIMING:
                self.notes.append(
                    f"{stream} begins {float(early):.3g} s before the video: that part, "
                    f"which players skip, is left out, as {suffix} cannot mark it"
                )
            if stream.type == "video" and not stream.is_cover:
                self.notes.append(f"{stream} is copied unchanged: only the best is processed")

    def _check_audio(self, streams: list[StreamInfo]) -> None:
        """Refuse (InputError) a kind of audio that the output cannot hold."""
        kind = self._audio
        if kind not in ENCODERS or takes(self._muxer, kind):
            return
        if any(stream.type == "audio" for stream in streams):
            others = [one for one in ENCODERS if takes(self._muxer, one)]
            raise InputError(
                f"got `audio`={kind}; {self.suffix} cannot hold it",
                parameter="audio",
                advice=f"choose {' or '.join([*others, 'none'])}",
            )

    def _seconds_before_zero(self, stream: StreamInfo, first: Packet[Any] | None) -> Fraction:
        """Return how long before 0 the stream begins, where the container cannot skip that."""
        if not self._unedited or self._info.clip.start is not None:
            return Fraction(0)
        if first is None or first.pts is None or stream.is_cover:
            return Fraction(0)
        base = stream.time_base or Fraction(1, 1000)
        return max(Fraction(0), self._info.zero - first.pts * base)

    def _add(
        self, stream: StreamInfo, template: Stream, first: Packet[Any] | None
    ) -> list[str] | None:
        """Copy the stream; return what its description loses, or None: it cannot be held."""
        base = stream.time_base or Fraction(1, 1000)
        copy = Copy(stream, template, base, None, copied_tags(stream.tags, self._info, self._muxer))
        lost: list[str] | None = []
        if stream.type == "audio":
            copy.clock = Clock(base, Fraction(1))
        if stream.is_cover:
            copy.first = first
            copy.cover = bytes(first) if first is not None else None
            if copy.cover is None or (self._matroska and stream.codec not in _IMAGES):
                return None
        if not (self._matroska and copy.cover):
            lost = lost_tags(stream, template, first, self._muxer, copy.tags)
        if stream.type == "audio" and self._audio in ENCODERS:
            if lost is None or stream.codec != self._audio:
                lost = self._encoded(copy)
        elif lost is None:
            copy.text = convertible(template, self._muxer)
        if copy.text is not None:
            lost = self._converted(copy, first)
        if lost is not None:
            self._copies[stream.index] = copy
        return lost

    def _converted(self, copy: Copy, first: Packet[Any] | None) -> list[str] | None:
        """Say what becomes of subtitles; return what their description loses, or None."""
        text = copy.text
        lost = lost_tags(copy.info, copy.template, first, self._muxer, copy.tags, text)
        if lost is None or text is None:
            return None
        self.notes.append(f"{copy.info} becomes {text.kind}, which {self.suffix} holds")
        if text.styled:
            self.losses.append(f"{copy.info}: {text.kind} holds no styles and positions")
        return lost

    def _encoded(self, copy: Copy) -> list[str] | None:
        """Let audio be encoded anew; return what its description loses, or None: it cannot be."""
        what, kind = str(copy.info), self._audio
        copy.audio = convertible_audio(copy.template, kind, what, self._info.zero)
        if copy.audio is None:
            return None
        if copy.audio.note is not None:
            self.notes.append(copy.audio.note)
        return lost_tags(copy.info, copy.template, None, self._muxer, copy.tags, copy.audio)

    def _advice(self, stream: StreamInfo) -> str:
        """Return how audio can be kept that the output cannot hold as it is."""
        if stream.type != "audio" or self._audio != "copy":
            return ""
        kinds = [kind for kind in ENCODERS if takes(self._muxer, kind)]
        return f"; `audio`={kinds[0]} encodes it anew" if kinds else ""

    def damage(self) -> tuple[str, ...]:
        """Return what was damaged in streams that were not just copied."""
        converted = [copy.audio for copy in self._copies.values() if copy.audio is not None]
        return tuple(text for one in converted for text in one.damage())

    def close(self) -> None:
        """Listen to FFmpeg no more."""
        for copy in self._copies.values():
            if copy.audio is not None:
                copy.audio.close()

    @property
    def failed(self) -> int:
        """How many packets of subtitles could not be converted so far."""
        return sum(copy.text.failed for copy in self._copies.values() if copy.text is not None)

    @property
    def _matroska(self) -> bool:
        return self._muxer == "matroska"

    @property
    def _unedited(self) -> bool:
        """Return whether the output has no edit list, which would skip what is before 0."""
        return self._muxer in ("matroska", "webm", "mpegts")

    @property
    def copies(self) -> int:
        """How many streams are copied."""
        return len(self._copies)

    @property
    def kept(self) -> frozenset[int]:
        """Indices of the streams that are copied, or encoded anew."""
        return frozenset(self._copies)

    @property
    def waits(self) -> bool:
        """Return whether a packet waits for the video."""
        return bool(self._waiting)

    def attach(self, out: OutputContainer) -> None:
        """Add the streams to the output, whose header is not written yet."""
        for copy in self._copies.values():
            tags = dict(copy.tags)
            if copy.cover is not None and self._matroska:
                mime, extension = _IMAGES[copy.info.codec]
                filename = tags.pop("filename", None) or f"cover.{extension}"
                attachment = out.add_attachment(filename, mime, copy.cover)
                attachment.metadata.update(tags)
                continue
            converter = copy.text or copy.audio
            if converter is not None:
                copy.out = converter.add(out)
            else:
                copy.out = out.add_stream_from_template(copy.template, opaque=True)
            copy.out.metadata.update(tags)
            copy.out.disposition = copy.info.disposition

    def start(self) -> Iterator[Packet[Any]]:
        """Read the time bases, which are fixed once the header is written; yield the covers."""
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
        """Take a packet of the input; it is kept until `due`."""
        copy = self._copies.get(packet.stream.index)
        if copy is None or copy.out is None or copy.cover is not None:
            return
        if packet.size <= 2 and copy.info.codec == "mov_text":
            return  # a gap between subtitles: the muxer writes its own
        stamp = stamp_of(packet)
        time = copy.latest or Fraction(0)
        if stamp is not None:
            if copy.clock is not None:
                copy.clock.step = Fraction(max(1, packet.duration or 1))
                moved = copy.clock(stamp) - stamp
                packet.dts = stamp + moved
                packet.pts = packet.dts if packet.pts is None else packet.pts + moved
            elif packet.pts is None:
                packet.pts = stamp
            if copy.audio is None and not self._cut_start(packet, copy):
                return
            stamp = stamp_of(packet)
            time = (stamp or 0) * copy.base - self._info.zero
            late = copy.audio is not None or copy.info.type == "subtitle"
            if late and self._info.clip.frames is not None:
                # Where so many frames end is known late: it waits until nothing cuts it any more.
                time += (packet.duration or 0) * copy.base
        copy.latest = time if copy.latest is None else max(time, copy.latest)
        heapq.heappush(self._waiting, Waiting(copy.latest, next(self._number), packet, copy))

    def _cut_start(self, packet: Packet[Any], copy: Copy) -> bool:
        """Return whether the packet lies behind the clip's start; shorten subtitles to it."""
        # Without a clip's start, only some containers need this: without an edit list that skips
        # the rest.
        whole = self._info.clip.start is None
        if packet.pts is None or (whole and not self._unedited):
            return True
        zero = self._info.zero / copy.base
        if packet.pts >= zero:
            return True
        end = packet.pts + (packet.duration or 0)
        if whole and copy.info.type != "subtitle":
            return end > zero or packet.pts >= zero - _PRIMING / copy.base
        if copy.info.type != "subtitle" or end <= zero:
            return False
        packet.pts = packet.dts = round(zero)
        packet.duration = end - packet.pts
        return True

    def _cut_end(self, packet: Packet[Any], copy: Copy) -> bool:
        """Return whether the packet begins before the clip's end; shorten subtitles to it."""
        end = self.end
        if end is None or packet.pts is None:
            return True
        ticks = round(end / copy.base)
        if packet.pts * copy.base >= end:
            return False
        if copy.info.type == "subtitle" and packet.pts + (packet.duration or 0) > ticks:
            packet.duration = max(1, ticks - packet.pts)
        return True

    def due(self, time: Fraction | None) -> Iterator[Packet[Any]]:
        """Yield packets up to `time` of the output (None: all), ready to be muxed."""
        while self._waiting and (time is None or self._waiting[0].time <= time):
            waiting = heapq.heappop(self._waiting)
            if self._cut_end(waiting.packet, waiting.copy):
                if waiting.copy.audio is not None:
                    waiting.copy.audio.end = self.end
                    yield from waiting.copy.audio.converted(waiting.packet)
                    continue
                packet: Packet[Any] | None = self._retimed(waiting.packet, waiting.copy)
                if packet is not None and waiting.copy.text is not None:
                    assert waiting.copy.out is not None
                    packet = waiting.copy.text.converted(packet, waiting.copy.out)
                if packet is not None:
                    yield packet
        if time is None:
            for copy in self._copies.values():
                if copy.audio is not None:
                    yield from copy.audio.finish()

    def _retimed(self, packet: Packet[Any], copy: Copy) -> Packet[Any]:
        """Return the packet with its times on the output's clock."""
        zero = self._info.zero

        def convert(ticks: int) -> int:
            return round((ticks * copy.base - zero) / copy.out_base)

        pts = None if packet.pts is None else convert(packet.pts)
        dts = pts if packet.dts is None else convert(packet.dts)
        duration = round((packet.duration or 0) * copy.base / copy.out_base)
        if dts is not None:
            if copy.last is not None:
                repeatable = copy.info.type in ("subtitle", "data")
                dts = max(dts, copy.last if repeatable else copy.last + 1)
            copy.last = dts
            pts = dts if pts is None else max(pts, dts)
        packet.pts, packet.dts, packet.duration = pts, dts, duration
        packet.time_base = copy.out_base
        assert copy.out is not None
        packet.stream = copy.out
        return packet
