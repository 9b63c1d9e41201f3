"""The end of FLV files, by their tags and metadata (Adobe Flash Video 10.1, annex E)."""

from __future__ import annotations

import struct
from typing import BinaryIO

from snellen.video.source.ends.message import within

_SOUND, _VIDEO, _SCRIPT = 8, 9, 18
_SLACK = 0.1
"""Seconds by which a stated duration may exceed the last tag and the widest gap between tags."""


def tags(file: BinaryIO, size: int) -> str | None:
    """Walk the tags: type, length, time, data, length of all this."""
    file.seek(0)
    head = file.read(9)
    if head[:3] != b"FLV":
        return None
    at = int.from_bytes(head[5:9], "big") + 4
    stated: dict[str, float] = {}
    last = shown = widest = 0
    while at < size:
        file.seek(at)
        head = file.read(11)
        kind, length = head[0] & 0x1F, int.from_bytes(head[1:4], "big")
        if kind not in (_SOUND, _VIDEO, _SCRIPT):
            break  # what follows the film, or is broken
        if len(head) < 11 or at + 11 + length + 4 > size:
            return within("a tag", size - at, 11 + length + 4)
        if kind == _SCRIPT and not stated:
            stated = _stated(file.read(length))
        elif kind != _SCRIPT:
            time = int.from_bytes(head[7:8] + head[4:7], "big")
            shift = _shift(file.read(min(length, 8))) if kind == _VIDEO else 0
            if kind == _VIDEO:
                widest, shown = max(widest, time - shown), max(shown, time)
            last = max(last, time + shift)
        at += 15 + length
    if stated.get("filesize", 0) > size:
        return within("the file", size, int(stated["filesize"]))
    duration = stated.get("duration", 0)
    if duration > (last + 2 * widest) / 1000 + _SLACK:
        return f"the input ends early: at {last / 1000:.3f} s of the {duration:.3f} s it promises"
    return None


def _shift(data: bytes) -> int:
    """Return by how many milliseconds a picture is shown after the time of its tag (E.4.3.1)."""
    if data[:1] and data[0] & 0x80:  # a codec's four letters follow
        offset = data[5:8] if data[0] & 0xF == 1 and data[1:5] in (b"avc1", b"hvc1") else b""
    else:
        offset = data[2:5] if len(data) > 1 and data[0] & 0xF in (7, 12) and data[1] == 1 else b""
    return max(0, int.from_bytes(offset, "big", signed=True))


def _stated(data: bytes) -> dict[str, float]:
    """Return the numbers of a script tag's metadata: name, type 0, float64 (AMF 0)."""
    found = {}
    for name in ("duration", "filesize"):
        at = data.find(name.encode() + b"\0") + len(name) + 1
        if at > len(name) and len(data) >= at + 8:
            (value,) = struct.unpack(">d", data[at : at + 8])
            found[name] = value if 0 <= value < 1 << 60 else 0
    return found
