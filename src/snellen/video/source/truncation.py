"""Whether a file ends before the end of its boxes, segment or packets, which FFmpeg ignores."""

from __future__ import annotations

import os
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from snellen.frames.opening import InputFile

_BOXES = {b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"sidx", b"ssix", b"mfra", b"meta", b"uuid",
          b"free", b"skip", b"wide", b"emsg", b"prft", b"pnot", b"pdin"}  # fmt: skip
"""Top-level boxes of mp4 and mov; other data that cameras append does not matter."""
_EMPTY = (b"free", b"skip", b"wide")
"""Boxes that hold nothing."""
_EBML, _SEGMENT = 0x1A45DFA3, 0x18538067
"""Element IDs of Matroska."""
_SYNC = 0x47
"""First byte of a transport stream's packet."""
_SYNC_COUNT = 16
"""Sync bytes at equal distances that establish the size of packets."""


def cut_short(path: Path, format: str, whole: bool) -> str | None:
    """Return a sentence if the file is shorter than it states; None: not, or it is unknown.

    Parameters
    ----------
    path : Path
    format : str
        FFmpeg's name of the container.
    whole : bool
        Whether all of it was read; False: only a cut through the index counts.
    """
    with BufferedReader(InputFile(path)) as file:
        size = os.fstat(file.fileno()).st_size
        if format.startswith("mov"):
            return _boxes(file, size, whole)
        if not whole:
            return None
        if format.startswith("matroska"):
            return _segment(file, size)
        return _packets(file, size) if format == "mpegts" else None


def _boxes(file: BinaryIO, size: int, whole: bool) -> str | None:
    """Walk the boxes of mp4 or mov: size, name, content (ISO/IEC 14496-12, 4.2)."""
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return _message("a box's header", len(head), 8) if whole and any(head) else None
        length, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if kind not in _BOXES or length < 8:
            return None  # length 0: up to the end, wherever that is
        if at + length > size:
            counts = (whole and kind not in _EMPTY) or kind == b"moov"
            return _message(f"its box {kind.decode()!r}", size - at, length) if counts else None
        at += length
    return None


def _segment(file: BinaryIO, size: int) -> str | None:
    """Check the end of Matroska's segment, which holds all but the header (RFC 8794, RFC 9559)."""
    if _number(file, keep=True) != _EBML:
        return None
    length = _number(file)
    if length is None:
        return None
    file.seek(length, 1)
    if _number(file, keep=True) != _SEGMENT:
        return None
    length = _number(file)
    if length is None or file.tell() + length <= size:
        return None
    return _message("its segment", size - file.tell(), length)


def _number(file: BinaryIO, keep: bool = False) -> int | None:
    """Read an EBML number of 1 to 8 bytes; None: unknown.

    Its leading zero bits give its length. `keep` keeps the marker bit behind them, which belongs to
    an element's ID.
    """
    first = file.read(1)
    if not first or not first[0]:
        return None
    more = 8 - first[0].bit_length()
    rest = file.read(more)
    if len(rest) < more:
        return None
    value = int.from_bytes(first + rest, "big")
    if keep:
        return value
    bits = 7 * (more + 1)
    value &= (1 << bits) - 1
    return None if value == (1 << bits) - 1 else value


def _packets(file: BinaryIO, size: int) -> str | None:
    """Check whether a transport stream ends within a packet of 188, 192 or 204 bytes."""
    head = file.read(204 * (_SYNC_COUNT + 1))
    for length, lead in ((188, 0), (192, 4), (204, 0)):
        for start in range(lead, length + lead):  # a recording may begin anywhere
            marks = head[start::length][:_SYNC_COUNT]
            if len(marks) == _SYNC_COUNT and set(marks) == {_SYNC}:
                rest = (size - start + lead) % length
                return _message("a packet", rest, length) if rest else None
    return None


def _message(where: str, there: int, promised: int) -> str:
    return f"the input ends early: within {where} ({there} of {promised} bytes)"
