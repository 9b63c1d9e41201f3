"""States the sample aspect ratio in headers of Matroska, WebM and y4m, whose muxers leave it out.

FFmpeg's muxers of these take it from a field of the stream that PyAV does not set.
"""

from __future__ import annotations

import re
import zlib
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, cast

from snellen.errors import OutputError
from snellen.files.containers import Y4M
from snellen.frames.frame import Format
from snellen.video.sink.output import CompleteWriter

MATROSKA = ("matroska", "webm")
_ROOM = "\x01" * 40
"""Stands behind the title of the track, and is replaced by the elements that state the ratio: no
other byte of the file moves."""
_SEGMENT, _TRACKS, _CRC, _TRACK, _NAME, _VIDEO = (
    0x18538067, 0x1654AE6B, 0xBF, 0xAE, 0x536E, 0xE0,
)  # fmt: skip
_WIDTH, _HEIGHT, _UNIT, _VOID = 0x54B0, 0x54BA, 0x54B2, 0xEC
"""Identifiers of elements (RFC 9559 and RFC 8794)."""


class AspectWriter:
    """An output file whose header states a sample aspect ratio, if any, when it is complete.

    The muxer writes into `target`; for Matroska `file` is readable, too.
    """

    def __init__(
        self, file: Path | BinaryIO, muxer: str, format: Format, ratio: Fraction | None
    ) -> None:
        self.target: Path | BinaryIO = file
        self._file, self._format = file, format
        self._ratio = ratio if in_track(muxer, ratio) else None
        self._opened: BinaryIO | None = None
        if muxer == Y4M and ratio not in (None, 1):
            if isinstance(file, Path):
                file = self._opened = file.open("wb", buffering=0)
            self.target = cast("BinaryIO", _Y4MWriter(file, ratio))

    def finish(self) -> None:
        """Complete the header; the muxer has closed the container."""
        self.close()
        if self._ratio is None:
            return
        if not isinstance(self._file, Path):
            _state(self._file, self._format, self._ratio)
            return
        with self._file.open("r+b") as file:
            _state(file, self._format, self._ratio)

    def close(self) -> None:
        """Close what was opened here."""
        if self._opened is not None:
            self._opened.close()


def in_track(muxer: str, ratio: Fraction | None) -> bool:
    """Return whether the ratio is written into a track of Matroska, which needs `with_room`."""
    return ratio not in (None, 1) and muxer in MATROSKA


def with_room(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags of a Matroska track, with room for the ratio."""
    return {**tags, "title": tags.get("title", "") + _ROOM}


def display_size(width: int, height: int, ratio: Fraction) -> tuple[int, int]:
    """Return the size in square pixels at which pictures are shown.

    It has the shape exactly where this takes at most an eighth more lines; else its width is
    rounded.
    """
    shape = width * ratio / height
    lines = -(-height // shape.denominator) * shape.denominator
    if lines <= height + height // 8:
        return int(lines * shape), lines
    return max(1, round(width * ratio)), height


class _Y4MWriter(CompleteWriter):
    """Passes a y4m film on, with the ratio in its first line."""

    def __init__(self, stream: BinaryIO, ratio: Fraction) -> None:
        super().__init__(stream)
        self._ratio = ratio
        self._header: bytes | None = b""

    def write(self, data: bytes) -> int:
        """Write all of `data`; the first line when it is complete."""
        if self._header is None:
            return super().write(data)
        self._header += bytes(data)
        line, end, rest = self._header.partition(b"\n")
        if end:
            stated = b" A%d:%d" % self._ratio.as_integer_ratio()
            super().write(re.sub(rb" A\d+:\d+", stated, line, count=1) + end + rest)
            self._header = None
        return len(data)


def _state(file: BinaryIO, format: Format, ratio: Fraction) -> None:
    """Replace the room in the track of a Matroska film by the size at which it is shown."""
    start, end = _found(file, 0, None, _SEGMENT)
    start, end = _found(file, start, end, _TRACKS)
    file.seek(start)
    tracks = file.read(end - start)
    parts = _children(tracks)
    shown = display_size(format.width, format.height, ratio)
    for number, (kind, body) in enumerate(parts):
        if kind != _TRACK:
            continue
        children = _children(body)
        if any(_is_room(*one) for one in children):
            rest = sum(len(_element(*part)) for part in parts if part[0] != _CRC)
            rest -= len(_element(_TRACK, body))
            checked = len(_element(_CRC, bytes(4))) if parts[0][0] == _CRC else 0
            parts[number] = _TRACK, _shown(children, shown, len(tracks) - checked - rest)
            break
    written = b"".join(_element(*part) for part in parts if part[0] != _CRC)
    if parts[0][0] == _CRC:
        written = _element(_CRC, zlib.crc32(written).to_bytes(4, "little")) + written
    if len(written) != len(tracks):
        raise OutputError("the header of Matroska has no room for the sample aspect ratio")
    file.seek(start)
    file.write(written)


def _shown(parts: list[tuple[int, bytes]], size: tuple[int, int], room: int) -> bytes:
    """Return the contents of a track that states its size; the whole element has `room` bytes."""
    made = []
    for kind, body in parts:
        if _is_room(kind, body):
            body = body.removesuffix(_ROOM.encode())
            if not body:
                continue
        elif kind == _VOID:
            continue
        elif kind == _VIDEO:
            kept = [one for one in _children(body) if one[0] not in (_WIDTH, _HEIGHT, _UNIT, _VOID)]
            for identifier, value in zip((_WIDTH, _HEIGHT), size, strict=True):
                kept.append((identifier, value.to_bytes((value.bit_length() + 7) // 8, "big")))
            body = b"".join(_element(*one) for one in kept)
        made.append(_element(kind, body))
    left = room - len(_element(_TRACK, b"")) - sum(map(len, made))
    void = len(_element(_VOID, b""))
    made.append(_element(_VOID, bytes(max(0, left - void))))
    return b"".join(made)


def _is_room(kind: int, body: bytes) -> bool:
    return kind == _NAME and body.endswith(_ROOM.encode())


def _element(kind: int, body: bytes) -> bytes:
    """Return an element; the size of a track has 8 bytes, that of others as many as needed."""
    identifier = kind.to_bytes((kind.bit_length() + 7) // 8, "big")
    return identifier + _size(len(body), 8 if kind in (_TRACK, _VOID) else 1) + body


def _size(value: int, least: int) -> bytes:
    count = least
    while value >= (1 << (7 * count)) - 1:
        count += 1
    return (value | 1 << (7 * count)).to_bytes(count, "big")


def _children(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(data):
        kind, first = _number(data, at, marked=True)
        size, start = _number(data, first, marked=False)
        found.append((kind, data[start : start + size]))
        at = start + size
    return found


def _found(file: BinaryIO, at: int, end: int | None, wanted: int) -> tuple[int, int]:
    while end is None or at < end:
        file.seek(at)
        head = file.read(12)
        if not head:
            break
        kind, first = _number(head, 0, marked=True)
        size, start = _number(head, first, marked=False)
        if kind == wanted:
            return at + start, at + start + size
        at += start + size
    raise OutputError("the header of Matroska has no tracks")


def _number(data: bytes, at: int, marked: bool) -> tuple[int, int]:
    """Return a number of variable length (with its mark: an identifier), and where it ends."""
    count = 9 - data[at].bit_length()
    value = int.from_bytes(data[at : at + count], "big")
    return value if marked else value & ((1 << (7 * count)) - 1), at + count
