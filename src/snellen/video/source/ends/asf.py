"""The end of ASF (WMV) files, by the packets that they state (ASF 1.20, sections 3.2 and 5)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import within

_HEADER = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")
_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
_DATA = bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c")
_INDEX = bytes.fromhex("90080033b1e5cf1189f400a0c90349cb")
_BROADCAST = 1
"""Flag of a live stream, whose numbers are not known."""
_MOST = 1 << 22
"""Bytes of the header, and of the end, that are searched."""


def packets(file: BinaryIO, size: int) -> str | None:
    """Compare the stated number of packets with the file; of a live stream check the last one."""
    file.seek(0)
    head = file.read(_MOST)
    at = head.find(_PROPERTIES)
    if head[:16] != _HEADER or at < 0 or len(head) < at + 104:
        return None
    start = int.from_bytes(head[16:24], "little")
    count = int.from_bytes(head[at + 56 : at + 64], "little")
    flags = int.from_bytes(head[at + 88 : at + 92], "little")
    length = int.from_bytes(head[at + 96 : at + 100], "little")
    if start > size:
        return within("its header", size, start)
    file.seek(start)
    data = file.read(24)
    if data[:16] != _DATA or not length:
        return within("its header", size, start + 50) if start + 50 > size else None
    start += 50
    if count and not flags & _BROADCAST:
        need = start + count * length
        return within("its data packets", size - start, need - start) if need > size else None
    file.seek(max(start, size - _MOST))
    tail = file.read(_MOST)
    index = tail.rfind(_INDEX)
    if index >= 0 and (size - len(tail) + index - start) % length == 0:
        return None
    rest = (size - start) % length
    return within("a packet", rest, length) if rest and size > start else None
