"""Reads packets of a container and decodes the video; errors are counted, not raised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import av
from av.packet import Packet
from av.video.frame import VideoFrame

from snellen.cpu import threads
from snellen.files.opening import for_ffmpeg
from snellen.video.ffmpeg import reason, start_of
from snellen.video.logs import logs
from snellen.video.logs.complaints import Complaints
from snellen.video.opening import choose_stream, limit_size, open_input
from snellen.video.pipes import Incoming
from snellen.video.source import nvdec
from snellen.video.source.alpha import AlphaDecoder, has_alpha
from snellen.video.source.damage import Damage, checks, shortfall
from snellen.video.source.gaps import Gaps, Start
from snellen.video.source.stream_info import rate_of
from snellen.video.source.truncation import Torn, cut_short, frames_after, joins, samples_short
from snellen.video.timestamps import fraction, stamp_of

_MAX_ERRORS = 50
"""Consecutive read errors, without a packet between them, after which reading ends."""
_MARGIN = Fraction(2)
"""Seconds to read beyond the end of a clip, for audio that is stored late in the file."""
_FRAME_PER_PACKET = {"h264", "hevc", "av1", "ffv1", "prores", "dnxhd", "mjpeg"}
"""Codecs of which each packet holds one shown frame, unless it holds a single field."""


class Reader:
    """One open container, `what` in messages, read from front to back.

    NVDEC decodes (`hardware`) where `nvdec.choose` has found that it works; `maps` choose the
    `stream` that is decoded. It has ticks of `time_base` seconds, and frames at this `rate` on
    average. `damage` is what could not be read; it is complete when `decode` ends.
    """

    def __init__(
        self, file: Path | Incoming, what: str, hardware: bool = False, maps: Sequence[str] = ()
    ) -> None:
        self._file, self._what, self._maps = file, what, maps
        self._opened = for_ffmpeg(file) if isinstance(file, Path) else None
        how = nvdec.settings(fall_back=True) if hardware else None
        self._log = logs.Listener()
        try:
            with self._log.here():
                self.container = open_input(file, how, self._opened)
        except BaseException:
            self._log.close()
            raise
        try:
            self.stream = choose_stream(self.container, what, maps)
            limit_size(self.stream, what)
        except BaseException:
            self.close()
            raise
        context = self.stream.codec_context
        context.thread_type = "AUTO"
        context.thread_count = threads.chosen() or context.thread_count
        context.options = {**(context.options or {}), **self._log.options, **checks(context.codec)}
        names = {context.codec.name, context.codec.canonical_name}
        self._start = Start(self.container.format.name)
        self._alpha = AlphaDecoder(self.stream) if has_alpha(self.stream) else None
        if hardware:
            nvdec.prepare(self.stream)
            self._alpha = None
        self.time_base = fraction(self.stream.time_base) or Fraction(1, 1000)
        self.rate = rate_of(self.stream)
        complaints = Complaints(self.container.format.name, names)
        complaints.hear(self._log.take(), opening=True)
        self.damage = Damage(complaints=complaints)
        step = 1 / (self.rate * self.time_base)
        self._gaps = Gaps(self.container.format.name, step, self.time_base)
        self._clip_end: Fraction | None = None
        self._from_start = True
        self._forgot = False
        self._packets_read = 0
        self._reached: dict[int, int] = {}  # ticks where the packets of each stream end so far
        self._past: set[int] = set()
        self._latest: int | None = None
        self._earliest: int | None = None
        self._widest = 0
        self._unseen: set[int] = set()
        self._torn: list[Torn] = []
        self._frame_per_packet = context.codec.canonical_name in _FRAME_PER_PACKET

    def close(self) -> None:
        """Close the container and its file, and listen to FFmpeg no more."""
        self.container.close()
        if self._opened is not None:
            self._opened.close()
        self._log.close()

    def start(self) -> Fraction:
        """Return where the contents begin, in seconds of the container's clock."""
        start = start_of(self.container)
        if self.container.format.name == "mpegts":
            return start  # it is below 0 just before the clock wraps around
        # In other containers a start below 0 is the priming of an audio codec: the video begins
        # at 0, or where its stream states.
        own = (self.stream.start_time or 0) * self.time_base
        return max(start, min(own, Fraction(0)))

    def seek(self, seconds: Fraction) -> bool:
        """Seek to a key frame before `seconds` of the container's clock; return if it worked."""
        try:
            with self._log.here():
                self.container.seek(floor(seconds / self.time_base), stream=self.stream)
        except (av.FFmpegError, OSError):
            return False
        self._from_start = False
        self._start.cut = True
        return True

    def end_clip(self, end: Fraction) -> None:
        """Decode no more; only read on for packets before `end` seconds that are stored later."""
        self._clip_end = end

    def forget(self, ticks: int) -> None:
        """Discard the damage found so far: the clip begins at time `ticks`."""
        self._forgot = True
        self._hear()
        complaints = self.damage.complaints
        complaints.forget(self._start.number(ticks))
        self.damage = Damage(complaints=complaints)
        self._torn = []
        self._earliest = ticks

    def decode(self) -> Iterator[VideoFrame | Packet[Any]]:
        """Yield frames of the video, and packets of other streams; an error skips its packet."""
        for packet in self.packets():
            self._look(packet)
            self._gaps.read(packet, self._is_video(packet))
            if not self._is_video(packet):
                yield packet
            elif self._clip_end is None:
                yield from self._decoded(packet)
        if self._clip_end is None:
            yield from self._decoded(None)
            if self._from_start and not self._forgot and self._earliest is not None:
                headless = self._start.headless(self._earliest)
                self.damage.undecodable = max(self.damage.undecodable, headless)
        self._count_unseen()
        path, name = self._path, self.container.format.name
        if path is not None and name == "mpegts":
            for torn in joins(path, self._torn):
                self.damage.torn -= 1
                self.damage.complaints.excuse(torn.stream, torn.times)
        self.damage.changed = self._opened is not None and self._opened.changed
        if path is not None and self.damage.short is None:
            self.damage.short = cut_short(path, name, self._clip_end is None)
            if self.damage.short is None and self._from_start and self._clip_end is None:
                read = self._packets_read
                self.damage.short = samples_short(path, name, self.stream.id, read)
        if self._clip_end is None and self.damage and path is not None:
            if self._latest is not None:
                for frame, pts in frames_after(self._latest, path, self._what, self._maps):
                    self._unseen.discard(pts)
                    yield frame
            self._count_unseen()

    @property
    def _path(self) -> Path | None:
        """The input as a file that can be opened once more; None: a stream or pipe."""
        return self._file if isinstance(self._file, Path) and self._file.is_file() else None

    def _count_unseen(self) -> None:
        """Count packets of the clip that gave no frame, where that is certain to be a loss."""
        # Packets before the first frame may refer to one that the file never held.
        first, last = self._earliest, self._latest
        if first is None or last is None:
            return
        # AVI has no times: where frames are reordered, those of their packets are different ones.
        timed = self.container.format.name != "avi"
        if timed and self._path is not None:
            self._gaps.search(self._path)
        self.damage.missing = self._gaps.missing(first, self._unseen) if timed else 0
        part = not self._from_start or self._clip_end is not None
        if not self._frame_per_packet or (part and not timed):
            return
        until = None if self._clip_end is None else last
        unseen = sum(first < t and (until is None or t < until) for t in self._unseen)
        self.damage.swallowed = max(0, unseen - self.damage.undecodable)

    def _look(self, packet: Packet[Any]) -> None:
        last = self._torn[-1] if self._torn else None
        if packet.is_corrupt:
            self.damage.torn += 1
            last = Torn(packet.stream.index, packet.pos)
            self._torn.append(last)
        # A parser may hand on the mark with the packet before the one that FFmpeg's message is of.
        if last is not None and last.stream == packet.stream.index and len(last.times) < 3:
            last.times.append(packet.dts or 0)

    def _see(self, frame: VideoFrame) -> None:
        # Each of two fields may be in a packet of its own.
        self._frame_per_packet &= not frame.interlaced_frame
        if frame.pts is None:
            return
        self._unseen.discard(frame.pts)
        self._gaps.see(frame.pts)
        if self._earliest is None:
            self._earliest = frame.pts
        latest = frame.pts if self._latest is None else self._latest
        self._widest = max(self._widest, frame.pts - latest)
        self._latest = max(frame.pts, latest)

    def _decoded(self, packet: Packet[Any] | None) -> list[VideoFrame]:
        if packet is not None:
            if packet.pts is not None and not packet.is_discard:
                self._unseen.add(packet.pts)
            self.damage.complaints.at = self._start.send(packet)
        try:
            with self._log.here():
                frames = self.stream.decode(packet)
                if self._alpha is not None:
                    self.damage.undecodable += not self._alpha.send(packet)
                    frames = [self._alpha.joined(frame) for frame in frames]
        except EOFError:
            return []
        except (av.FFmpegError, ValueError) as error:
            unopened = not self.stream.codec_context.is_open
            if unopened and isinstance(error, MemoryError | BlockingIOError):
                raise MemoryError("the decoder got no memory, or no threads") from error
            self.damage.undecodable += 1
            return []
        finally:
            self._hear()
        for frame in frames:
            self._see(frame)
        return frames

    def _hear(self) -> None:
        """Judge what FFmpeg has logged meanwhile."""
        messages = self._log.take()
        count = max(1, self.stream.codec_context.thread_count)
        if messages:
            self.damage.complaints.hear(messages, lead=self._start.leading(count))

    def _demuxed(self) -> Iterator[Packet[Any]]:
        packets = self.container.demux()
        while True:
            with self._log.here():
                packet = next(packets, None)
            self._hear()
            if packet is None:
                return
            yield packet

    def packets(self) -> Iterator[Packet[Any]]:
        """Read packets without decoding them; an error of the container is counted and passed."""
        errors = 0
        while errors <= _MAX_ERRORS:
            try:
                for packet in self._demuxed():
                    if packet.size == 0:
                        # The end of a stream; with a time, AVI's repetition of the last frame.
                        self._packets_read += packet.dts is not None and self._is_video(packet)
                        continue
                    errors = 0
                    if self._finished(packet):
                        return
                    yield packet
                break
            except IndexError:
                # PyAV fails on streams that appear in the middle, once it has read to the end.
                self.damage.appeared = True
                break
            except (av.FFmpegError, OSError) as error:
                errors += 1
                if errors == 1:
                    self.damage.reading.append(reason(error))
        if self._opened is not None:
            self._opened.check()
        if self._clip_end is None:
            count = self._packets_read if self._from_start else None
            self.damage.short = shortfall(
                self.container, self.stream, count, self._ends(), 1 / self.rate,
                self._widest * self.time_base,
            )  # fmt: skip

    def _ends(self) -> tuple[Fraction, Fraction]:
        """Return where the video ends, as far as it was read, and the other streams; seconds."""
        ends = [Fraction(0), Fraction(0)]
        for stream in self.container.streams:
            other = stream.index != self.stream.index
            base = fraction(stream.time_base) or Fraction(0)
            ends[other] = max(ends[other], self._reached.get(stream.index, 0) * base)
        return ends[0], ends[1]

    def _is_video(self, packet: Packet[Any]) -> bool:
        return bool(packet.stream.index == self.stream.index)

    def _finished(self, packet: Packet[Any]) -> bool:
        """Note how far the streams are read; return whether all have passed the clip's end."""
        video = self._is_video(packet)
        stamp = stamp_of(packet)
        self._packets_read += video
        if stamp is None:
            return False
        shown = max(stamp, packet.pts if packet.pts is not None else stamp)
        if self.container.format.name == "avi":
            shown = stamp  # it has no times: these count its chunks
        index, end = packet.stream.index, shown + (packet.duration or 0)
        self._reached[index] = max(end, self._reached.get(index, 0))
        if self._clip_end is None:
            return False
        time = stamp * (fraction(packet.stream.time_base) or Fraction(0))
        if time >= self._clip_end:
            self._past.add(index)
        awaited = {s.index for s in self.container.streams.audio} | {self.stream.index}
        return awaited <= self._past or (video and time >= self._clip_end + _MARGIN)
