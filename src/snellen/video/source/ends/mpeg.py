"""The end of MPEG transport and program streams, by their packets (ISO/IEC 13818-1)."""

from __future__ import annotations

import re
from typing import BinaryIO

from snellen.video.source.ends.parts import before, read_at, within

_SYNC = 0x47
"""First byte of a transport stream's packet."""
_SYNC_COUNT, _LEAST = 16, 5
"""Sync bytes at equal distances that establish the size of packets; in a short file the least."""
_NULL = 0x1FFF
"""Number of the stream that fills gaps."""
_TABLE = 0
"""Number of the stream with the table of programs."""
_TABLES = 32
"""Numbers of streams below it are those of tables."""
_REGION = 1 << 24
"""Bytes that are searched for missing packets."""
_FEW = 1 << 22
"""Bytes that two or three pictures have, at most."""
_AROUND = 4096
"""Packets before and behind a gap in time among which counters are followed."""
_BEHIND = 1024
"""Packets before a place among which the table before it is looked for."""
_TAIL = 1 << 18
"""Bytes at the end of a program stream that are searched for the start of a pack."""
_PACK, _END = b"\0\0\1\xba", b"\0\0\1\xb9"
_HEADER = 14
"""Bytes of a pack's header."""
_VIDEO = 0xE0
"""First of the 16 numbers of video streams in a program stream."""
_ERASED = re.compile(rb"\0{16}[^\0\1]")
"""Zeros in a packet of video that do not end in a start code."""
_PADDING = re.compile(rb"\0+(?=\0\0\x01\xba[\x20-\x2f])")
"""Zeros before a pack of MPEG-1."""


def transport(file: BinaryIO, size: int) -> str | None:
    """Check whether a transport stream ends within a packet of 188, 192 or 204 bytes."""
    head = read_at(file, 0, 204 * (_SYNC_COUNT + 1))
    for length, lead in ((188, 0), (192, 4), (204, 0)):
        for start in range(lead, length + lead):  # a recording may begin anywhere
            marks = head[start::length][:_SYNC_COUNT]
            if len(marks) >= _LEAST and set(marks) == {_SYNC}:
                rest = (size - start + lead) % length
                return within("a packet", rest, length) if rest else None
    return None


def skipped(file: BinaryIO, first: int, last: int, around: bool) -> bool:
    """Return whether packets of a transport stream are missing between two positions.

    Each packet of a stream that carries data counts one up, up to 15 (2.4.3.3); one may be there
    twice, and the stream may say that it begins anew. At the first position a packet of the stream
    begins whose own packets must begin with a start code. With `around`, counters are followed from
    before the first position until behind the last one: of 16 missing packets of a stream its own
    do not tell, and those of sound and tables may lie further apart.
    """
    lead, length = _form(read_at(file, first, _FEW))
    behind = min(first // length, _AROUND) * length if around else 0
    data = read_at(
        file,
        first - behind,
        min(last - first, _REGION) + behind + (_AROUND if around else 2) * length,
    )
    first, last = behind, behind + last - first
    counters: dict[int, int] = {}
    own: int | None = None
    for at in range(lead, len(data) - 188 + 1, length):
        inside = first <= at <= last + lead
        if at > last + lead and not around:
            break
        if data[at] != _SYNC or data[at + 1] & 0x80:  # a receiver has marked it as wrong
            if inside:
                return True
            counters = {}
            continue
        stream, counter = _numbers(data, at)
        anew = data[at + 3] & 0x20 and data[at + 4] and data[at + 5] & 0x80
        before = counters.get(stream)
        if stream == _NULL or not data[at + 3] & 0x10:
            continue
        counters[stream] = counter
        own = stream if own is None and inside else own
        begins = stream == own and data[at + 1] & 0x40
        payload = at + 4 + (1 + data[at + 4] if data[at + 3] & 0x20 else 0)
        if inside and begins and data[payload : payload + 3] != b"\0\0\1":
            return True
        if before is not None and not anew and counter not in (before, (before + 1) & 15):
            return True
    return False


def joined(file: BinaryIO, first: int, back: bool) -> bool:
    """Return whether the counter of a stream breaks because another file was joined to the first.

    Each of the files that `cat` joins begins with its table of programs, behind which the counters
    of all streams begin with one number. What is lost does not send times `back`; where they go on,
    the counter of a table must break, too. At `first` a packet of the stream begins.
    """
    lead, length = _form(read_at(file, first, _FEW))
    behind = min(first // length, _BEHIND) * length
    data = read_at(file, first - behind, behind + _FEW)
    own: int | None = None
    tables: dict[int, int] = {}
    before, anew = b"", back
    begun: dict[int, int] = {}
    for at in range(lead, len(data) - 188 + 1, length):
        if data[at] != _SYNC or data[at + 1] & 0x80:
            return False
        stream, counter = _numbers(data, at)
        if stream == _NULL or not data[at + 3] & 0x10:
            continue
        if stream < _TABLES:
            anew |= stream in tables and counter != (tables[stream] + 1) & 15
            tables[stream] = counter
        if stream == _TABLE:
            begun = {_TABLE: counter}
        if at < behind:
            continue
        if own is None:
            own, before, begun, anew = stream, data[at : at + 188], {}, back
        elif stream != own:
            begun.setdefault(stream, counter)
        elif counter == (before[3] + 1) & 15 or data[at : at + 188] == before:
            before, begun, anew = data[at : at + 188], {}, back
        else:
            whole = bool(data[at + 1] & 0x40) and _TABLE in begun
            return whole and anew and {*begun.values()} == {counter}
    return False


def _numbers(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of a packet's stream, and its counter."""
    return int.from_bytes(data[at + 1 : at + 3], "big") & 0x1FFF, data[at + 3] & 15


def _form(data: bytes) -> tuple[int, int]:
    """Return where packets of a transport stream begin, and their distance."""
    return max(
        ((0, 188), (4, 192), (16, 204), (0, 204)),
        key=lambda form: data[form[0] :: form[1]].count(_SYNC) * form[1],
    )


def program(file: BinaryIO, size: int) -> str | None:
    """Check whether a program stream ends within a packet, by its last packs."""
    tail = read_at(file, max(0, size - _TAIL), _TAIL)
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


def erased(file: BinaryIO, first: int, last: int) -> bool:
    """Return whether a program stream is harmed between two positions where packets begin.

    Packets follow one another without bytes between them, but for the zeros before packs of MPEG-1
    that a Video CD has. Video has no more zeros than a start code does, unless an encoder stuffs
    some before one, to reach a bit rate.
    """
    end = min(last - first, _REGION)
    data = read_at(file, first, end + _HEADER)
    at = 0
    while at < end:
        code = data[at : at + 4]
        if len(code) < 4 or code < _END or code[:3] != _END[:3]:
            return True
        length = 4 if code == _END else _length(data, at)
        if length is None:
            return True
        if code[3] & 0xF0 == _VIDEO and _ERASED.search(data, at, at + length):
            return True
        at += length
        if (padding := _PADDING.match(data, at)) is not None:
            at = padding.end()
    return end < at and end == last - first


def _length(data: bytes, at: int) -> int | None:
    """Return how many bytes a pack's header or a packet has; None: its header is cut."""
    if data[at + 3] == 0xBA:
        if at + 5 > len(data):
            return None
        if data[at + 4] >> 6 != 1:
            return 12  # MPEG-1
        return 14 + (data[at + 13] & 7) if at + 14 <= len(data) else None
    return 6 + int.from_bytes(data[at + 4 : at + 6], "big") if at + 6 <= len(data) else None
