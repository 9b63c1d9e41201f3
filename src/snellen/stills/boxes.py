"""Boxes of ISO base media and JPEG 2000 files (ISO/IEC 14496-12, 4.2; 15444-1, annex I)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_MOST = 1000
"""Boxes on one level that are looked at."""
_LONGEST = 16 << 20
"""Bytes of a box that are read at most."""

_AVIF_CONFIGURATION = (b"meta", b"iprp", b"ipco", b"av1C")
_FULL = {b"meta": 4}
"""Bytes of version and flags before the boxes in a box."""

_UUIDS = {
    bytes.fromhex("be7acfcb97a942e89c71999491e3afac"): "xmp",
    b"JpgTiffExif->JP2": "exif",
    bytes.fromhex("33c7a4d2b81d4723a0baf1a3e097ad38"): "iptc",
}
"""The contents of boxes of type uuid in JPEG 2000, as in ExifTool's table."""
_PROFILES = (2, 3)
"""Methods of a box colr that have an ICC profile."""


class Box(NamedTuple):
    """Type, begin and end of a box's contents."""

    kind: bytes
    begin: int
    end: int


def boxes(file: BinaryIO, begin: int, end: int) -> Iterator[Box]:
    """Yield the boxes between two places of a file."""
    for _ in range(_MOST):
        file.seek(begin)
        head = file.read(16)
        length, kind, inside = int.from_bytes(head[:4], "big"), head[4:8], 8
        if length == 1:
            length, inside = int.from_bytes(head[8:16], "big"), 16
        stop = end if length == 0 else begin + length
        if len(head) < 8 or stop > end or stop < begin + inside:
            return
        yield Box(kind, begin + inside, stop)
        begin = stop


def content(file: BinaryIO, box: Box) -> bytes:
    """Return the bytes of a box."""
    file.seek(box.begin)
    return file.read(min(box.end - box.begin, _LONGEST))


def _within(file: BinaryIO, kinds: tuple[bytes, ...]) -> Iterator[Box]:
    """Yield the boxes of type kinds[-1] in those of kinds[-2], and so on."""
    levels = [Box(b"", 0, file.seek(0, 2))]
    for kind in kinds:
        levels = [
            one
            for outer in levels
            for one in boxes(file, outer.begin + _FULL.get(outer.kind, 0), outer.end)
            if one.kind == kind
        ]
    yield from levels


def brands(start: bytes) -> tuple[bytes, ...]:
    """Return the brands of a file of ISO base media by its first bytes; none: it is no such."""
    if start[4:8] != b"ftyp":
        return ()
    listed = start[8 : int.from_bytes(start[:4], "big")]
    return tuple(listed[at : at + 4] for at in range(0, len(listed), 4) if at != 4)


def avif_bits(file: BinaryIO) -> int:
    """Return the bits of a sample of an AVIF file (AV1-ISOBMFF, 2.3.3: av1C)."""
    for box in _within(file, _AVIF_CONFIGURATION):
        flags = content(file, box)[2:3]
        if flags and flags[0] & 0x40:
            return 12 if flags[0] & 0x20 else 10
    return 8


def jpeg2000_bits(file: BinaryIO) -> int:
    """Return the most bits of a sample of a JPEG 2000 file (ISO/IEC 15444-1, A.5.1: SIZ)."""
    file.seek(0)
    place = 0
    if file.read(4) != b"\xff\x4f\xff\x51":
        place = next((box.begin for box in _within(file, (b"jp2c",))), 0)
    file.seek(place)
    marker = file.read(42)
    components = int.from_bytes(marker[40:42], "big")
    depths = file.read(3 * components)[::3]
    return max(((depth & 0x7F) + 1 for depth in depths), default=8)


def jpeg2000_metadata(file: BinaryIO) -> dict[str, bytes]:
    """Return ICC profile ("icc"), "xmp", "exif" and "iptc" of a JPEG 2000 file."""
    found: dict[str, bytes] = {}
    for box in _within(file, (b"jp2h", b"colr")):
        data = content(file, box)
        if data[:1] and data[0] in _PROFILES:
            found.setdefault("icc", data[3:])
    for box in _within(file, (b"uuid",)):
        data = content(file, box)
        if name := _UUIDS.get(data[:16]):
            found.setdefault(name, data[16:])
    return found
