"""The end of AVI files, by their RIFF lists and chunks (also OpenDML's)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import within

_UNKNOWN = (0, 0xFFFFFFFF)
"""Lengths of lists that were never completed, as in a pipe."""
_HEADER = 8
"""Bytes in front of a chunk's data; some programs count them in."""


def lists(file: BinaryIO, size: int) -> str | None:
    """Walk the RIFF lists; in one of unknown length, its chunks."""
    at = 0
    while at + 12 <= size:
        file.seek(at)
        head = file.read(12)
        length = int.from_bytes(head[4:8], "little")
        if head[:4] not in (b"RIFF", b"LIST") and not _is_chunk(head):
            return None  # what follows the film
        if head[:4] in (b"RIFF", b"LIST") and length in _UNKNOWN:
            at += 12
            continue
        end = at + _HEADER + length
        if end > size + (_HEADER if head[:4] == b"RIFF" else 0):
            name = "its RIFF list" if head[:4] == b"RIFF" else "a chunk"
            return within(name, size - at, _HEADER + length)
        at = end + length % 2
    return None


def _is_chunk(head: bytes) -> bool:
    """Return whether a name is that of a chunk: of a stream, an index, or filling."""
    name = head[:4]
    return name in (b"idx1", b"JUNK", b"hdrl") or (
        name[:2].isalnum() and name[2:4] in (b"dc", b"db", b"wb", b"tx", b"pc", b"sb")
    ) or name[:2] == b"ix"  # fmt: skip
