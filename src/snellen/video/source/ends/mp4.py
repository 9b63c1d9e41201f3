"""The end of mp4 and mov files, by their boxes (ISO/IEC 14496-12)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from snellen.video.source.ends.message import before, within

_BOXES = {b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"sidx", b"ssix", b"mfra", b"meta", b"uuid",
          b"free", b"skip", b"wide", b"emsg", b"prft", b"pnot", b"pdin", b"udta"}  # fmt: skip
"""Top-level boxes of mp4 and mov; other data that cameras append does not matter."""
_FRAGMENT = re.compile(rb"moof....mfhd|traf....tfhd|mfra....tfra", re.DOTALL)
_DATA = re.compile(b"mdat")
_TRIED = 100
"""Of so many places in a block that might be boxes of data it is tried whether they are."""
_PART = re.compile(rb"mfhd|tfhd")
"""What a fragment holds, and nothing else."""
_BLOCK = 1 << 20
_MOST = 1 << 24
"""Greatest length of a fragment's index that is read."""
_EMPTY = (b"free", b"skip", b"wide")
"""Boxes that hold nothing."""


def boxes(file: BinaryIO, size: int, whole: bool) -> str | None:
    """Walk the boxes: size, name, content (4.2); not `whole`: only the index counts."""
    at, fragment, fragmented, indexed = 0, False, False, 0
    while at < size:
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return within("a box's header", len(head), 8) if whole and any(head) else None
        length, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if kind not in _BOXES or length < 8:
            if length >= 8 and _begins(file, at + length) and not _holds_fragment(file, at, length):
                at += length  # a box of others
                continue
            # Length 0: up to the end, wherever that is.
            if whole and fragmented and any(head):
                return f"the boxes of the input are broken at byte {at}"
            return _behind(file, at, size) if whole else None
        if at + length > size:
            counts = (whole and kind not in _EMPTY) or kind == b"moov"
            return within(f"its box {kind.decode()!r}", size - at, length) if counts else None
        fragmented |= kind == b"moof"
        fragment = kind == b"moof" or (fragment and kind != b"mdat")
        at += length
        if kind == b"sidx":
            indexed = max(indexed, at + _indexed(file, at - length, length))
    if not whole:
        return None
    if indexed > size:
        return within("the segments of its index 'sidx'", size, indexed)
    return before("the data of its last fragment") if fragment else None


def fragment_samples(file: BinaryIO, size: int, track: int) -> int:
    """Return how many samples of a track all fragments together state (8.8.8)."""
    at = found = 0
    while at < size:
        file.seek(at)
        head = file.read(16)
        length, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if len(head) < 8 or length < 8:
            break
        if kind == b"moof" and at + length <= size and length <= _MOST:
            file.seek(at)
            found += _samples(file.read(length), track)
        at += length
    return found


def _samples(fragment: bytes, track: int) -> int:
    found = 0
    for kind, part in _children(fragment[8:]):
        if kind != b"traf":
            continue
        inside = list(_children(part))
        if any(k == b"tfhd" and int.from_bytes(body[4:8], "big") == track for k, body in inside):
            found += sum(int.from_bytes(body[4:8], "big") for k, body in inside if k == b"trun")
    return found


def _children(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names and contents of boxes."""
    at = 0
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if length < 8 or at + length > len(data):
            return
        yield data[at + 4 : at + 8], data[at + 8 : at + length]
        at += length


def _begins(file: BinaryIO, at: int) -> bool:
    """Return whether a known box begins here."""
    file.seek(at)
    head = file.read(8)
    return head[4:] in _BOXES and int.from_bytes(head[:4], "big") != 0


def _holds_fragment(file: BinaryIO, at: int, length: int) -> bool:
    """Return whether this box, of an unknown name, has a fragment's contents."""
    file.seek(at + 8)
    return _PART.search(file.read(min(length - 8, 64))) is not None


def _ends(file: BinaryIO, at: int, length: bytes, size: int) -> bool:
    """Return whether a box of this length ends with the file, or before a known box."""
    end = at + int.from_bytes(length, "big")
    return end >= at + 8 and (end == size or (end < size and _begins(file, end)))


def _behind(file: BinaryIO, at: int, size: int) -> str | None:
    """Return a sentence if a fragment lies behind data that are no box: FFmpeg stops there."""
    start, rest = at, b""
    while at < size:
        file.seek(at)
        block = file.read(_BLOCK)
        if not block:
            break
        data = rest + block
        begin = at - len(rest) - 4
        chained = (
            _ends(
                file, begin + match.start(), data[max(0, match.start() - 4) : match.start()], size
            )
            for match in islice(_DATA.finditer(data), _TRIED)
        )
        if _FRAGMENT.search(data) or any(chained):
            return f"the boxes of the input are broken at byte {start}, and more of it lies behind"
        rest = block[-24:]
        at += len(block)
    return None


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
