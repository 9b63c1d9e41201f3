"""Frames that are missing inside a stream of constant rate, by the times of the others.

A film of variable rate has gaps by design. So a gap counts only where the file holds a packet
whose frame should be in it, or where bytes of the file were skipped around it. Of ASF, which does
not say where its packets are, gaps count if they are rare, and no sound goes on in them. Where a
stream was cut, a decoder may still hold packets that refer to what was before: `Start`
follows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from contextlib import suppress
from fractions import Fraction
from io import BufferedReader
from math import ceil, floor
from pathlib import Path
from typing import Any, BinaryIO

from av.packet import Packet

from snellen.files.opening import raw
from snellen.video.source.ends import mpeg
from snellen.video.source.stream_info import CODED_ONLY
from snellen.video.timestamps import fraction, stamp_of

_CONTIGUOUS = ("matroska", "flv", "nut")
"""Containers whose packets lie one behind the other, each with its position."""
_HOLE = 64
"""Bytes between two packets beyond which some were skipped: headers in between are smaller."""
_RARE = 12
"""Regular distances for each gap, at least, where gaps leave no other trace."""
_NEAR = 8
"""Frames by which reordering may part a packet from the gap that it leaves."""
_SPANS = 1000
"""Gaps at which a transport or program stream is searched for what is missing."""
_FAR = 10
"""Seconds between the times of two files that were joined: nothing is missing in between."""
_WIDE = Fraction(7, 4)
"""A distance of so many frames is a gap, also where times are rounded."""


class Gaps:
    """Notes the times of frames and the positions of packets.

    `container` is FFmpeg's name; a frame has `step` ticks of `time_base` seconds on average.
    """

    def __init__(self, container: str, step: Fraction, time_base: Fraction) -> None:
        self._contiguous = container.startswith(_CONTIGUOUS)
        self._traceless = container == "asf"
        self._numbered, self._packed = container == "mpegts", container == "mpeg"
        self._before: int | None = None
        self._spans: list[tuple[int, int, int, int]] = []
        self._step = step
        self._wide = ceil(max(_WIDE * step, step + 2))
        self._base = time_base
        self._sounds: set[int] = set()
        self._end: int | None = None
        self._stamp: int | None = None
        self._skipped = False
        self._holes: list[tuple[int, int]] = []
        self._torn: list[tuple[int, int]] = []
        self._last: int | None = None
        self._regular = 0
        self._gaps: list[tuple[int, int]] = []

    def read(self, packet: Packet[Any], video: bool) -> None:
        """Note a packet of any stream, in the order of the file."""
        if self._contiguous and packet.pos is not None and packet.pos >= 0:
            if self._end is not None and packet.pos > self._end + _HOLE:
                self._skipped = True
            self._end = packet.pos + packet.size
        stamp = stamp_of(packet)
        if stamp is None:
            return
        if not video:
            if self._traceless and packet.stream.type == "audio":
                seconds = stamp * (fraction(packet.stream.time_base) or Fraction(0))
                self._sounds.add(self._moment(seconds))
            return
        if self._skipped and self._stamp is not None:
            self._holes.append((min(self._stamp, stamp), max(self._stamp, stamp)))
        self._skipped = False
        if self._numbered or self._packed:
            self._note(packet.pos, stamp)
        self._stamp = stamp

    def search(self, path: Path) -> None:
        """Find out where an MPEG stream was harmed: only around gaps in time."""
        if not self._gaps or not (self._numbered or self._packed):
            return
        with suppress(OSError), BufferedReader(raw(path)) as file:
            if self._packed:
                self._torn += [(a, b) for at, to, a, b in self._spans if mpeg.erased(file, at, to)]
            else:
                self._search_numbered(file)
        self._spans = []

    def see(self, ticks: int) -> None:
        """Note the time of the next frame that is shown."""
        if self._last is not None:
            if ticks - self._last >= self._wide:
                self._gaps.append((self._last, ticks))
            else:
                self._regular += 1
        self._last = ticks

    def missing(self, since: int | None, unseen: Collection[int]) -> int:
        """Return how many frames are missing for certain.

        The clip begins at time `since`; packets of times `unseen` gave no frame.
        """
        margin, near = self._step / 2, _NEAR * self._step
        lost = 0
        varies = self._regular < 2 * len(self._gaps)  # or the rate is unknown
        for first, second in self._gaps:
            if since is not None and first < since:
                continue
            packets = sum(first + margin < t < second - margin for t in unseen)
            torn = any(a - near <= second and first <= b + near for a, b in self._torn)
            if varies and not torn:
                continue
            hole = torn or any(a - near <= second and first <= b + near for a, b in self._holes)
            rare = len(self._gaps) * _RARE <= self._regular
            if hole or (self._traceless and rare and not self._sound(first, second)):
                packets = max(packets, round((second - first) / self._step) - 1)
            lost += packets
        return lost

    def _note(self, pos: int | None, stamp: int) -> None:
        """Note between which positions of an MPEG stream times are missing."""
        if pos is None or pos < 0:
            return
        last, before = self._stamp, self._before
        self._before = pos
        if last is None or before is None or before >= pos or len(self._spans) >= _SPANS:
            return
        if stamp - last >= self._wide:
            self._spans.append((before, pos, last, stamp))

    def _search_numbered(self, file: BinaryIO) -> None:
        """Note where packets of a transport stream are missing."""
        if self._before is not None and self._stamp is not None:
            self._spans.append((self._before, file.seek(0, 2), self._stamp, self._stamp))
        for first, last, a, b in self._spans:
            far = (b - a) * self._base > _FAR
            if mpeg.skipped(file, first, last, a < b and not far) and not (
                far and mpeg.joined(file, first, False)
            ):
                self._torn.append((a, b))

    def _moment(self, seconds: Fraction) -> int:
        """Return a number for each duration of a frame."""
        return floor(seconds / (self._step * self._base))

    def _sound(self, first: int, second: int) -> bool:
        """Return whether a packet of sound begins in the gap."""
        moments = range(self._moment(first * self._base) + 1, self._moment(second * self._base))
        return any(moment in self._sounds for moment in moments)


_ANYWHERE = (*CODED_ONLY, "rawvideo")
"""Containers, or none at all, that can be cut at any byte."""
_REMEMBERED = 600
"""Packets whose times are remembered."""


class Start:
    """Follows the packets of the video from the beginning, or from where reading was resumed.

    It is `cut` where it may begin anywhere, in a group of pictures whose beginning is not there.
    """

    def __init__(self, container: str) -> None:
        self.cut = container in _ANYWHERE
        self._sent = 0
        self._key: int | None = None
        self._last = 0
        self._headless = 0
        self._times: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)

    def send(self, packet: Packet[Any]) -> int:
        """Note a packet that the decoder gets; return its number, from 1."""
        self._sent += 1
        if packet.pts is not None:
            self._times.append((packet.pts, self._sent))
        if self._key is None:
            if packet.is_keyframe:
                self._key = packet.pts if packet.pts is not None else -(1 << 62)
                if self._sent == 1:
                    return 1
                self._headless = self._sent - 1
            self._last = self._sent
        elif packet.pts is not None and packet.pts < self._key:
            self._last = self._sent  # shown before the key frame: it may refer to what is cut off
        return self._sent

    def headless(self, earliest: int) -> int:
        """Return how many packets before the first key frame gave nothing, by the first time shown.

        A file that can be cut anywhere may begin with such packets; in others they are damaged.
        """
        lost = not self.cut and self._key is not None and earliest >= self._key
        return self._headless if lost else 0

    def leading(self, threads: int) -> bool:
        """Return whether a message may be about such a packet; `threads` are in the decoder."""
        return self.cut and self._last > 0 and self._sent <= self._last + threads

    def number(self, ticks: int) -> int:
        """Return the number of the packet with this time; if unknown: of the next one to come."""
        return next((n for pts, n in self._times if pts == ticks), self._sent)
