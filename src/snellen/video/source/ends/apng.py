"""The end of animated PNG files, by their chunks (PNG specification, 5.3)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import before, within


def chunks(file: BinaryIO, size: int) -> str | None:
    """Walk the chunks up to the last one: length, name, data, checksum."""
    at = 8
    while at < size:
        file.seek(at)
        head = file.read(8)
        length = 12 + int.from_bytes(head[:4], "big")
        if len(head) < 8 or at + length > size:
            return within("a chunk", size - at, length if len(head) == 8 else 12)
        if head[4:] == b"IEND":
            return None
        at += length
    return before("its last chunk, IEND")
