"""Files of encoded packets: exact times, any encoder, and a checksum.

A file of a container would round times, or move decoding times before the first frame, by rules of
its own. Packets of the encoder as they are go into the output as if it had been encoded in one run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, BinaryIO

from av.packet import Packet

_MAGIC = b"snellen packets 1\n"
_HEAD = struct.Struct("<qqIB")
"""Time and duration in ticks, bytes, and 1 for a key frame."""
MOST = 1 << 60
"""No time, in ticks, and no other number is larger."""


class PacketWriter:
    """Writes packets into a file, `size` bytes so far; `times` are theirs, in decoding order."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._sum = file, sha256()
        self.size = 0
        self.times: list[int] = []
        self._put(_MAGIC)

    def write(self, packet: Packet[Any]) -> None:
        """Write a packet, which has a time."""
        assert packet.pts is not None
        self.times.append(packet.pts)
        self._put(_HEAD.pack(packet.pts, packet.duration or 0, packet.size, packet.is_keyframe))
        self._put(bytes(packet))

    @property
    def checksum(self) -> str:
        """SHA-256 of what was written."""
        return self._sum.hexdigest()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._sum.update(data)
        self.size += len(data)


def checksum(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def is_sound(file: Path, size: int, ahead: int) -> bool:
    """Return whether a file of so many bytes has nothing but packets, whose delay is `ahead`."""
    if file.stat().st_size != size:
        return False
    shown = []
    with file.open("rb") as opened:
        if opened.read(len(_MAGIC)) != _MAGIC:
            return False
        try:
            for pts, duration, count, _ in _heads(opened):
                if abs(pts) > MOST or not 0 <= duration <= MOST:
                    return False
                shown.append(pts)
                opened.seek(count, 1)
        except struct.error:
            return False
        return opened.tell() == size and delay(shown) == ahead


def _heads(opened: BinaryIO) -> Iterator[tuple[int, int, int, int]]:
    """Yield what stands before each packet: the caller reads, or passes, the packet itself."""
    opened.seek(len(_MAGIC))
    while head := opened.read(_HEAD.size):
        yield _HEAD.unpack(head)


def packets(file: Path) -> Iterator[Packet[Any]]:
    """Yield the packets of a file, which is whole, without decoding times."""
    with file.open("rb") as opened:
        for pts, duration, size, key in _heads(opened):
            packet: Packet[Any] = Packet(opened.read(size))
            packet.pts, packet.duration, packet.is_keyframe = pts, duration, bool(key)
            yield packet


def times(file: Path) -> list[int]:
    """Return the times of a file's packets, in decoding order."""
    found = []
    with file.open("rb") as opened:
        for pts, _, size, _ in _heads(opened):
            found.append(pts)
            opened.seek(size, 1)
    return found


def delay(shown: Iterable[int]) -> int:
    """Return by how many packets decoding is ahead of showing, from times in decoding order."""
    given = list(shown)
    ranks = {time: rank for rank, time in enumerate(sorted(given))}
    return max((number - ranks[time] for number, time in enumerate(given)), default=0)
