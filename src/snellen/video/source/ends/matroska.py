"""The end of Matroska and WebM files, by their elements (RFC 8794, RFC 9559)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.parts import read_at, within

_HEADER, _SEGMENT, _CLUSTER = 0x1A45DFA3, 0x18538067, 0x1F43B675
_NAMES = {
    _HEADER: "its header", _SEGMENT: "its segment", _CLUSTER: "a cluster", 0xA3: "a block",
    0xA0: "a group of blocks",
    0xE7: "a time stamp", 0xA7: "a position", 0xAB: "a size", 0xAF: "a block", 0xEC: "a gap",
    0xBF: "a checksum", 0x5854: "a list of tracks", 0x114D9B74: "its list of elements",
    0x1549A966: "its description", 0x1654AE6B: "its list of tracks", 0x1C53BB6B: "its index",
    0x1941A469: "its attachments", 0x1043A770: "its chapters", 0x1254C367: "its tags",
}  # fmt: skip
"""Elements of a segment, and of a cluster."""


def elements(file: BinaryIO, size: int) -> str | None:
    """Walk the elements: ID, length, content.

    A segment or cluster of known length is compared with the file. One of unknown length, as a live
    recording has, lasts as long as elements follow that it can hold: they are walked, too.
    """
    at = 0
    while at < size:
        head = read_at(file, at, 12)
        kind, used = _number(head, keep=True)
        if not used:
            return within("an element's header", len(head), 12) if _is_begun(head) else None
        if kind not in _NAMES:
            return None  # what follows the film
        length, more = _number(head[used:])
        if not more:
            return within("an element's header", len(head), 12) if len(head) < 12 else None
        at += used + more
        if length is None:
            if kind not in (_SEGMENT, _CLUSTER):
                return None
        elif at + length > size:
            return within(_NAMES[kind], size - at, length)
        else:
            at += length
    return None


def _is_begun(head: bytes) -> bool:
    """Return whether these bytes at the end of a file begin the ID of a known element."""
    return any(f"{kind:x}".startswith(head.hex()) for kind in _NAMES)


def _number(data: bytes, keep: bool = False) -> tuple[int | None, int]:
    """Return an EBML number, and how many bytes it takes: 1 to 8, or 0 if it is none or is cut."""
    # Its leading zero bits give its length. `keep` keeps the marker bit behind them, which belongs
    # to an element's ID. A number all of whose bits are set is None: unknown.
    if not data or not data[0]:
        return None, 0
    length = 9 - data[0].bit_length()
    if len(data) < length:
        return None, 0
    value = int.from_bytes(data[:length], "big")
    if keep:
        return value, length
    bits = 7 * length
    value &= (1 << bits) - 1
    return (None if value == (1 << bits) - 1 else value), length
