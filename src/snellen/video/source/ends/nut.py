"""The end of NUT files, by the frames behind their last syncpoint (NUT specification, 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from snellen.video.source.ends.parts import read_at, within

_MAIN = bytes.fromhex("4e4d7a561f5f04ad")
_SYNCPOINT = bytes.fromhex("4e4be4adeeca4569")
_INDEX = bytes.fromhex("4e58dd672f23e64e")
_MOST = 1 << 20
"""Bytes of the header, and more of the end, that are searched."""
_PTS, _STREAM, _SIZE, _CHECKSUM, _RESERVED, _HEADER, _MATCH, _CODED, _INVALID = (
    8, 16, 32, 64, 128, 1024, 2048, 4096, 8192,
)  # fmt: skip
"""Flags of a frame: what its header states."""
_LARGE = 4096
"""Packets of more bytes have a checksum of their header."""


class _CutError(Exception):
    """The data end within a number."""


class _Code(NamedTuple):
    """The meaning of one value of a frame's first byte."""

    flags: int
    factor: int
    size: int
    reserved: int
    header: int


@dataclass
class _Numbers:
    """Reads numbers of a variable length: 7 bits a byte, the highest first."""

    data: bytes
    at: int

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise _CutError
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Return the next number, of 10 bytes at most."""
        value = 0
        for _ in range(10):
            byte = self.byte()
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value
        raise ValueError

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.number()


def frames(file: BinaryIO, size: int) -> str | None:
    """Check whether the file ends within a frame, or within a packet with a start code."""
    head = read_at(file, 0, _MOST)
    begin = head.find(_MAIN)
    tail = read_at(file, max(0, size - 4 * _MOST), 4 * _MOST)
    at = tail.rfind(_SYNCPOINT)
    if begin < 0 or at < 0:
        return None
    try:
        codes, headers = _table(_Numbers(head, begin + 8))
    except _CutError:
        return None
    last = at
    try:
        while at < len(tail):
            last, at = at, _next(tail, at, codes, headers)
            if at <= last:
                return None
    except _CutError:
        return within("a frame's header", len(tail) - last, len(tail) - last + 1)
    except (IndexError, ValueError):
        broken = _INDEX in tail[last:]
        return "frames behind the last syncpoint are broken" if broken else None
    return within("a frame", len(tail) - last, at - last) if at > len(tail) else None


def _table(numbers: _Numbers) -> tuple[list[_Code], list[int]]:
    """Return the meaning of each first byte of frames, and the lengths of elided headers."""
    forward = numbers.number()
    if forward > _LARGE:
        numbers.at += 4  # the header's checksum
    if numbers.number() > 3:
        numbers.number()  # minor version
    numbers.skip(2)
    numbers.skip(2 * numbers.number())  # time bases
    codes: list[_Code] = []
    factor, header = 1, 0
    while len(codes) < 256:
        flags, given = numbers.number(), numbers.number()
        values: dict[int, int] = {}
        for place in range(given):
            values[min(place, 8)] = numbers.number()  # from the eighth on they do not matter
        factor, header = values.get(1, factor), values.get(7, header)
        size, reserved = values.get(3, 0), values.get(4, 0)
        for step in range(min(256, values.get(5, factor - size))):
            if len(codes) == ord("N"):
                codes.append(_Code(_INVALID, 1, 0, 0, 0))
            if len(codes) < 256:
                codes.append(_Code(flags, factor, size + step, reserved, header))
    headers = [0]
    for _ in range(numbers.number()):
        length = numbers.number()
        headers.append(length)
        numbers.at += length
    return codes, headers


def _next(data: bytes, at: int, codes: list[_Code], headers: list[int]) -> int:
    """Return where the frame or packet at a place ends."""
    numbers = _Numbers(data, at)
    if data[at] == ord("N"):
        numbers.at += 8  # a start code; then the length of what follows, checksummed if large
        forward = numbers.number()
        return numbers.at + (4 if forward > _LARGE else 0) + forward
    code = codes[numbers.byte()]
    flags = code.flags
    if flags & _INVALID:
        raise IndexError
    if flags & _CODED:
        flags ^= numbers.number()
    numbers.skip(bool(flags & _STREAM) + bool(flags & _PTS))
    size = code.size + (numbers.number() * code.factor if flags & _SIZE else 0)
    numbers.skip(bool(flags & _MATCH))
    header = numbers.number() if flags & _HEADER else code.header
    numbers.skip(numbers.number() if flags & _RESERVED else code.reserved)
    numbers.at += 4 * bool(flags & _CHECKSUM)
    return numbers.at + size - headers[header]
