"""Where the fields of a file's headers are: (offset, bytes, order), by the format's first bytes.

A new format is a function of the data, and its first bytes in `_BY_MAGIC`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Literal

Field = tuple[int, int, Literal["big", "little"]]

_MOST = 4000


def fields(data: bytes) -> list[Field]:
    """Return the fields of the headers; empty for formats of text, or unknown ones."""
    found: list[Field] = []
    for magic, place, finder in _BY_MAGIC:
        if data[place : place + len(magic)] == magic:
            try:
                for one in finder(data):
                    found.append(one)
                    if len(found) == _MOST:
                        break
            except (struct.error, IndexError):  # the file was harmed before
                pass
            break
    return found


def _png(data: bytes) -> Iterator[Field]:
    yield from ((16, 4, "big"), (20, 4, "big"), *((24 + n, 1, "big") for n in range(5)))
    place = 8
    while place + 12 <= len(data):
        yield place, 4, "big"
        place += 12 + int.from_bytes(data[place : place + 4], "big")


def _bmp(data: bytes) -> Iterator[Field]:
    yield from ((n, 4, "little") for n in (2, 10, 14, 18, 22, 30, 34, 46, 50))
    yield from ((26, 2, "little"), (28, 2, "little"))


def _tiff(data: bytes) -> Iterator[Field]:
    order: Literal["big", "little"] = "little" if data[:2] == b"II" else "big"
    big = int.from_bytes(data[2:4], order) == 43
    size, head, entry = (8, 8, 20) if big else (4, 4, 12)
    yield head if not big else 8, size, order
    place = int.from_bytes(data[8:16] if big else data[4:8], order)
    few = 8 if big else 2
    yield place, few, order
    count = min(int.from_bytes(data[place : place + few], order), 200)
    for number in range(count):
        start = place + few + number * entry
        yield from ((start, 2, order), (start + 2, 2, order), (start + 4, size, order),
                    (start + 4 + size, size, order))  # fmt: skip


def _jpeg(data: bytes) -> Iterator[Field]:
    place = 2
    while place + 4 < len(data) and data[place] == 0xFF:
        kind, size = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        yield place + 1, 1, "big"
        yield place + 2, 2, "big"
        if kind in (0xC0, 0xC1, 0xC2, 0xDD):  # SOF: depth, height, width, components
            yield from ((place + 4, 1, "big"), (place + 5, 2, "big"), (place + 7, 2, "big"))
            yield from ((place + n, 1, "big") for n in range(9, 2 + min(size, 30)))
        elif kind in (0xC4, 0xDB, 0xDA, 0xE2):
            yield from ((place + n, 1, "big") for n in range(4, 2 + min(size, 40)))
        place += 2 + size


_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"udta", b"meta", b"dinf"}


def _mp4(data: bytes, place: int = 0, end: int | None = None) -> Iterator[Field]:
    end = len(data) if end is None else end
    while place + 8 <= end:
        size, kind = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8]
        yield place, 4, "big"
        inner = min(end, place + max(size, 8))
        if kind in _BOXES:
            yield from _mp4(data, place + 8, inner)
        elif kind not in (b"mdat", b"free"):
            yield from ((n, 4, "big") for n in range(place + 8, min(inner - 3, place + 120), 4))
        place = inner


_MASTERS = {0x18538067, 0x114D9B74, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0xE1, 0x1F43B675, 0xA0,
            0x1C53BB6B, 0xBB, 0xB7, 0x1043A770, 0x45B9, 0xB6, 0x1941A469, 0x61A7, 0x1254C367,
            0x7373, 0x1A45DFA3, 0x55B0, 0x7670}  # fmt: skip


def _ebml(data: bytes, place: int = 0, end: int | None = None) -> Iterator[Field]:
    end = len(data) if end is None else end
    while place < end:
        identity, after = _vint(data, place, keep=True)
        size, start = _vint(data, after, keep=False)
        if start > end:
            return
        yield place, after - place, "big"
        yield after, start - after, "big"
        inner = min(end, start + size)
        if identity in _MASTERS:
            yield from _ebml(data, start, inner)
        elif 0 < size <= 8:
            yield start, size, "big"
        elif identity in (0xA3, 0xA1):  # a block: track, time, flags
            yield from ((start, 1, "big"), (start + 1, 2, "big"), (start + 3, 1, "big"))
        place = inner


def _vint(data: bytes, place: int, keep: bool) -> tuple[int, int]:
    """Return an EBML number, and what is behind it."""
    length = 9 - data[place].bit_length()
    if length > 8:
        raise IndexError
    value = int.from_bytes(data[place : place + length], "big")
    return value if keep else value & ((1 << (7 * length)) - 1), place + length


def _riff(data: bytes) -> Iterator[Field]:
    """AVI and WebP: sizes of chunks, and what short chunks hold."""
    yield 4, 4, "little"
    place = 12
    while place + 8 <= len(data):
        kind, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "little")
        yield place + 4, 4, "little"
        if kind == b"LIST":
            place += 12
            continue
        if kind in (b"avih", b"strh", b"strf", b"VP8X", b"VP8L", b"VP8 ", b"idx1", b"indx"):
            yield from ((place + 8 + n, 4, "little") for n in range(0, min(size, 64) - 3, 4))
            yield from ((place + 8 + n, 2, "little") for n in range(0, min(size, 64) - 1, 2))
        place += 8 + size + size % 2


def _gif(data: bytes) -> Iterator[Field]:
    yield from ((6, 2, "little"), (8, 2, "little"), (10, 1, "little"), (11, 1, "little"))
    for place in range(13, len(data) - 10):
        if data[place : place + 2] == b"\0\x2c":  # an image
            yield from ((place + 2 + n, 2, "little") for n in (0, 2, 4, 6))
            yield from ((place + 10, 1, "little"), (place + 11, 1, "little"))


def _flv(data: bytes) -> Iterator[Field]:
    yield from ((4, 1, "big"), (5, 4, "big"))
    place = 13
    while place + 11 <= len(data):
        size = int.from_bytes(data[place + 1 : place + 4], "big")
        yield from ((place, 1, "big"), (place + 1, 3, "big"), (place + 4, 3, "big"))
        yield from ((place + 7, 1, "big"), (place + 11, 1, "big"), (place + 11 + size, 4, "big"))
        place += 15 + size


def _ts(data: bytes) -> Iterator[Field]:
    for place in range(0, len(data) - 187, 188):
        yield from ((place + 1, 2, "big"), (place + 3, 1, "big"), (place + 4, 1, "big"),
                    (place + 9, 4, "big"), (place + 13, 4, "big"))  # fmt: skip


def _ps(data: bytes) -> Iterator[Field]:
    place = data.find(b"\0\0\1")
    while place >= 0:
        yield place + 3, 1, "big"
        yield from ((place + n, 2, "big") for n in (4, 6, 8, 10))
        place = data.find(b"\0\0\1", place + 3)


def _asf(data: bytes) -> Iterator[Field]:
    yield from ((16, 8, "little"), (24, 4, "little"))
    place = 30
    while place + 24 <= len(data):
        size = int.from_bytes(data[place + 16 : place + 24], "little")
        yield place + 16, 8, "little"
        yield from ((place + n, 4, "little") for n in range(24, min(size, 120) - 3, 4))
        place += max(size, 24)


def _numbered(data: bytes) -> Iterator[Field]:
    """The length in front of a .npy header, a safetensors header, and the next bytes."""
    if data[:1] == b"\x93":
        yield from ((6, 1, "little"), (7, 1, "little"), (8, 2, "little"))
    else:
        yield 0, 8, "little"


def _nut(data: bytes) -> Iterator[Field]:
    yield from ((n, 1, "big") for n in range(25, min(len(data), 400)))


_BY_MAGIC: tuple[tuple[bytes, int, Callable[[bytes], Iterator[Field]]], ...] = (
    (b"\x89PNG", 0, _png), (b"BM", 0, _bmp), (b"II", 0, _tiff), (b"MM", 0, _tiff),
    (b"\xff\xd8", 0, _jpeg), (b"ftyp", 4, _mp4), (b"\x1aE\xdf\xa3", 0, _ebml), (b"RIFF", 0, _riff),
    (b"GIF8", 0, _gif), (b"FLV", 0, _flv), (b"G", 0, _ts), (b"\0\0\1\xba", 0, _ps),
    (b"\x30\x26\xb2\x75", 0, _asf), (b"\x93NUMPY", 0, _numbered), (b'{"', 8, _numbered),
    (b"nut/multimedia", 0, _nut),
)  # fmt: skip
