"""The end of MXF files, by their KLV packets (SMPTE 336, SMPTE 377-1)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import before, within

_KEY = bytes.fromhex("060e2b34")
_PARTITION = bytes.fromhex("060e2b34020501010d010201")
_FOOTER = 28
"""Where in a partition's value the position of the footer stands."""


def klv(file: BinaryIO, size: int) -> str | None:
    """Walk the packets: key, length, value; the first one tells where the footer is."""
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(25)
        if head[:4] != _KEY[: len(head)]:
            return None  # what follows the film
        more = head[16] & 0x7F if len(head) > 16 and head[16] & 0x80 else 0
        if len(head) < 17 + more or more > 8:
            return within("a packet's header", len(head), 17 + more)
        length = int.from_bytes(head[17 : 17 + more], "big") if more else head[16]
        begin = at + 17 + more
        if begin + length > size:
            return within("a packet", size - at, begin + length - at)
        if at == 0 and head[:12] == _PARTITION:
            file.seek(begin + _FOOTER - 4)
            footer = int.from_bytes(file.read(8), "big")
            if footer >= size:
                return before("its footer")
        at = begin + length
    return None
