"""The end of mp4 and mov files, by their boxes (ISO/IEC 14496-12)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import before, within

_BOXES = {b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"sidx", b"ssix", b"mfra", b"meta", b"uuid",
          b"free", b"skip", b"wide", b"emsg", b"prft", b"pnot", b"pdin", b"udta"}  # fmt: skip
"""Top-level boxes of mp4 and mov; other data that cameras append does not matter."""
_EMPTY = (b"free", b"skip", b"wide")
"""Boxes that hold nothing."""


def boxes(file: BinaryIO, size: int, whole: bool) -> str | None:
    """Walk the boxes: size, name, content (4.2); not `whole`: only the index counts."""
    at, fragment, indexed = 0, False, 0
    while at < size:
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return within("a box's header", len(head), 8) if whole and any(head) else None
        length, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if kind not in _BOXES or length < 8:
            return None  # length 0: up to the end, wherever that is
        if at + length > size:
            counts = (whole and kind not in _EMPTY) or kind == b"moov"
            return within(f"its box {kind.decode()!r}", size - at, length) if counts else None
        fragment = kind == b"moof" or (fragment and kind != b"mdat")
        at += length
        if kind == b"sidx":
            indexed = max(indexed, at + _indexed(file, at - length, length))
    if not whole:
        return None
    if indexed > size:
        return within("the segments of its index 'sidx'", size, indexed)
    return before("the data of its last fragment") if fragment else None


def _indexed(file: BinaryIO, at: int, length: int) -> int:
    """Return how many bytes behind a segment index it describes (8.16.3)."""
    file.seek(at + 8)
    body = file.read(min(length - 8, 1 << 20))
    wide = body[:1] != b"\0"
    first = int.from_bytes(body[20:28] if wide else body[16:20], "big")
    at = 30 if wide else 22
    count = int.from_bytes(body[at : at + 2], "big")
    entries = [body[k : k + 4] for k in range(at + 2, at + 2 + 12 * count, 12)]
    return first + sum(int.from_bytes(entry, "big") & 0x7FFFFFFF for entry in entries)
