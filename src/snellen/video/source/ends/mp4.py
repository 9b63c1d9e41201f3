"""The end of mp4 and mov files, by their boxes (ISO/IEC 14496-12)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from snellen.video.source.ends.parts import before, read_at, within

_BOXES = {b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"sidx", b"ssix", b"mfra", b"meta", b"uuid",
          b"free", b"skip", b"wide", b"emsg", b"prft", b"pnot", b"pdin", b"udta"}  # fmt: skip
"""Top-level boxes of mp4 and mov; other data that cameras append does not matter."""
_FRAGMENT = re.compile(rb"moof....mfhd|traf....tfhd|mfra....tfra", re.DOTALL)
_DATA = re.compile(b"mdat")
_TRIED = 100
"""So many places in a block that might be boxes of data are tried."""
_PART = re.compile(rb"mfhd|tfhd")
"""Boxes that a fragment holds, and nothing else."""
_BLOCK = 1 << 20
_MOST = 1 << 24
"""Greatest length of a fragment's index that is read."""
_LONG = 2
"""Times of samples that last so many times as long as the header says cannot be."""
_EMPTY = (b"free", b"skip", b"wide")
"""Boxes that hold nothing."""


def boxes(file: BinaryIO, size: int, whole: bool) -> str | None:
    """Walk the boxes: size, name, content (4.2); not `whole`: only the index counts."""
    at, fragment, fragmented, indexed = 0, False, False, 0
    while at < size:
        head, length, kind = _head(file, at)
        if len(head) < 8:
            return within("a box's header", len(head), 8) if whole and any(head) else None
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


def _head(file: BinaryIO, at: int) -> tuple[bytes, int, bytes]:
    """Return the bytes of a box's header, its length and its type."""
    head = read_at(file, at, 16)
    length = int.from_bytes(head[8:16] if head[:4] == b"\0\0\0\1" else head[:4], "big")
    return head, length, head[4:8]


def _top_level(file: BinaryIO, size: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield place, length and type of boxes, up to a broken one."""
    at = 0
    while at < size:
        head, length, kind = _head(file, at)
        if len(head) < 8 or length < 8:
            return
        yield at, length, kind
        at += length


def fragment_samples(file: BinaryIO, size: int, track: int) -> int:
    """Return how many samples of a track all fragments together state (8.8.8)."""
    found = 0
    for at, length, kind in _top_level(file, size):
        if kind == b"moof" and at + length <= size and length <= _MOST:
            found += _samples(read_at(file, at, length), track)
    return found


def unshown(file: BinaryIO, size: int, track: int, packets: int) -> str | None:
    """Return a sentence if times of samples (8.6.1.2) that cannot be keep some from being read.

    They last longer than the header of the track's media says (8.4.2), and its edit list cuts off
    what they put behind the end.
    """
    tables = _tables(_index(file, size), track)
    header, times, sizes = (tables.get(kind, b"") for kind in (b"mdhd", b"stts", b"stsz"))
    samples = int.from_bytes(sizes[8:12], "big")
    wide = header[:1] != b"\0"
    rate = int.from_bytes(header[20:24] if wide else header[12:16], "big")
    stated = header[24:32] if wide else header[16:20]
    if samples <= packets or not rate or not stated.strip(b"\0") or not stated.strip(b"\xff"):
        return None
    entries = times[8 : 8 + (len(times) - 8) // 8 * 8]
    length = sum(count * step for count, step in struct.iter_unpack(">II", entries)) / rate
    promised = int.from_bytes(stated, "big") / rate
    if length <= _LONG * promised:
        return None
    return (
        f"{samples - packets} of {samples} video packets are not read: by their times they last "
        f"{length:.3f} s, by the header {promised:.3f} s"
    )


def description(file: BinaryIO, size: int, track: int) -> bytes:
    """Return how a track describes its samples (8.5.2); nothing where it does not."""
    return _tables(_index(file, size), track).get(b"stsd", b"")


def _index(file: BinaryIO, size: int) -> bytes:
    """Return the content of the box of all tables; nothing where it is not there, or huge."""
    for at, length, kind in _top_level(file, size):
        if kind == b"moov":
            return read_at(file, at + 8, length - 8) if length <= _MOST else b""
    return b""


def _tables(index: bytes, track: int) -> dict[bytes, bytes]:
    """Return the boxes of a track's media, however deep they are."""
    for kind, body in _children(index):
        found: dict[bytes, bytes] = {}
        inside = list(_children(body)) if kind == b"trak" else []
        while inside:
            name, part = inside.pop()
            found[name] = part
            inside += _children(part) if name in (b"mdia", b"minf", b"stbl") else ()
        header = found.get(b"tkhd", b"")
        number = header[12:16] if header[:1] == b"\0" else header[20:24]
        if found and int.from_bytes(number, "big") == track:
            return found
    return {}


def _samples(fragment: bytes, track: int) -> int:
    found = 0
    for part in (part for kind, part in _children(fragment[8:]) if kind == b"traf"):
        inside = list(_children(part))
        if any(k == b"tfhd" and int.from_bytes(body[4:8], "big") == track for k, body in inside):
            found += sum(int.from_bytes(body[4:8], "big") for k, body in inside if k == b"trun")
    return found


def _children(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if length < 8 or at + length > len(data):
            return
        yield data[at + 4 : at + 8], data[at + 8 : at + length]
        at += length


def _begins(file: BinaryIO, at: int) -> bool:
    head = read_at(file, at, 8)
    return head[4:] in _BOXES and int.from_bytes(head[:4], "big") != 0


def _holds_fragment(file: BinaryIO, at: int, length: int) -> bool:
    """Return whether this box, of an unknown name, has a fragment's contents."""
    return _PART.search(read_at(file, at + 8, min(length - 8, 64))) is not None


def _ends(file: BinaryIO, at: int, length: bytes, size: int) -> bool:
    """Return whether a box of this length ends with the file, or before a known box."""
    end = at + int.from_bytes(length, "big")
    return end >= at + 8 and (end == size or (end < size and _begins(file, end)))


def _behind(file: BinaryIO, at: int, size: int) -> str | None:
    """Return a sentence if a fragment lies behind data that are no box: FFmpeg stops there."""
    start, rest = at, b""
    while at < size:
        block = read_at(file, at, _BLOCK)
        if not block:
            break
        data = rest + block
        begin = at - len(rest) - 4
        places = (match.start() for match in islice(_DATA.finditer(data), _TRIED))
        chained = (_ends(file, begin + k, data[max(0, k - 4) : k], size) for k in places)
        if _FRAGMENT.search(data) or any(chained):
            return f"the boxes of the input are broken at byte {start}, and more of it lies behind"
        rest = block[-24:]
        at += len(block)
    return None


def _indexed(file: BinaryIO, at: int, length: int) -> int:
    """Return how many bytes behind a segment index it describes (8.16.3)."""
    body = read_at(file, at + 8, min(length - 8, 1 << 20))
    wide = body[:1] != b"\0"
    first = int.from_bytes(body[20:28] if wide else body[16:20], "big")
    at = 30 if wide else 22
    count = int.from_bytes(body[at : at + 2], "big")
    entries = [body[k : k + 4] for k in range(at + 2, at + 2 + 12 * count, 12)]
    return first + sum(int.from_bytes(entry, "big") & 0x7FFFFFFF for entry in entries)
