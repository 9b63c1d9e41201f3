"""The end of AVI files, by their RIFF lists and chunks (also OpenDML's)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import within

_UNKNOWN = (0, 0xFFFFFFFF)
"""Lengths of lists that were never completed, as in a pipe."""
_LISTS = (b"RIFF", b"LIST")
_NAMES = (*_LISTS, b"idx1", b"JUNK", b"indx")
_KINDS = (b"dc", b"db", b"wb", b"tx", b"pc", b"sb")
"""How the name of a stream's chunk ends, behind its number."""
_HEADER = 8
"""Bytes in front of a chunk's data; some programs count them in."""


def lists(file: BinaryIO, size: int) -> str | None:
    """Walk the RIFF lists; in one of unknown length, its chunks."""
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(_HEADER)
        if not _is_chunk(head[:4]):
            return None  # what follows the film
        length = int.from_bytes(head[4:], "little")
        end = at + _HEADER + length
        if head[:4] in _LISTS and len(head) == _HEADER and length in _UNKNOWN:
            at += _HEADER + 4
            continue
        if len(head) < _HEADER or end > size + (_HEADER if head[:4] == b"RIFF" else 0):
            name = "its RIFF list" if head[:4] == b"RIFF" else "a chunk"
            return within(name, size - at, _HEADER + length)
        at = end + length % 2
    return None


def _is_chunk(name: bytes) -> bool:
    """Return whether a name, or what is there of it, is that of a list or chunk."""
    if any(known.startswith(name) for known in _NAMES) or name[:2] == b"ix":
        return True
    return name[:2].isdigit() and any(kind.startswith(name[2:]) for kind in _KINDS)
