"""The end of MPEG transport and program streams, by their packets (ISO/IEC 13818-1)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import before, within

_SYNC = 0x47
"""First byte of a transport stream's packet."""
_SYNC_COUNT, _LEAST = 16, 5
"""Sync bytes at equal distances that establish the size of packets; in a short file the least."""
_TAIL = 1 << 18
"""Bytes at the end of a program stream that are searched for the start of a pack."""
_PACK, _END = b"\0\0\1\xba", b"\0\0\1\xb9"


def transport(file: BinaryIO, size: int) -> str | None:
    """Check whether a transport stream ends within a packet of 188, 192 or 204 bytes."""
    file.seek(0)
    head = file.read(204 * (_SYNC_COUNT + 1))
    for length, lead in ((188, 0), (192, 4), (204, 0)):
        for start in range(lead, length + lead):  # a recording may begin anywhere
            marks = head[start::length][:_SYNC_COUNT]
            if len(marks) >= _LEAST and set(marks) == {_SYNC}:
                rest = (size - start + lead) % length
                return within("a packet", rest, length) if rest else None
    return None


def program(file: BinaryIO, size: int) -> str | None:
    """Check whether a program stream ends within a packet, by its last packs."""
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    at, pack = tail.find(_PACK), False
    while 0 <= at < len(tail):
        code = tail[at : at + 4]
        if code == _END:
            at, pack = at + 4, False
            continue
        if len(code) < 4 or code[:3] != b"\0\0\1" or code[3] < 0xBA:
            if b"\0\0\1".startswith(code):
                return within("a packet's header", len(code), 4)
            at, pack = tail.find(_PACK, at + 1), False  # the start was none, or other data follow
            continue
        length, pack = _length(tail, at), code == _PACK
        if length is None or at + length > len(tail):
            there = len(tail) - at
            return within("a packet", there, length or there + 1)
        at += length
    return before("the packets of its last pack") if pack else None


def _length(data: bytes, at: int) -> int | None:
    """Return how many bytes a pack's header or a packet has; None: its header is cut."""
    if data[at + 3] == 0xBA:
        if at + 5 > len(data):
            return None
        if data[at + 4] >> 6 != 1:
            return 12  # MPEG-1
        return 14 + (data[at + 13] & 7) if at + 14 <= len(data) else None
    return 6 + int.from_bytes(data[at + 4 : at + 6], "big") if at + 6 <= len(data) else None
