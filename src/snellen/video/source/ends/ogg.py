"""The end of Ogg files, by their pages (RFC 3533)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import before, within

_VIDEO = (b"\x80theora", b"BBCD\0", b"OVP80", b"\x01video")
"""How the first packet of a stream of video begins: Theora, Dirac, VP8, OGM."""
_FIRST, _LAST = 2, 4
"""Flags of the first and the last page of a stream."""


def pages(file: BinaryIO, size: int) -> str | None:
    """Walk the pages; count those that are missing, and look for the last one of the video."""
    at, missing = 0, 0
    numbers: dict[bytes, int] = {}
    open_video: set[bytes] = set()
    while at < size:
        file.seek(at)
        head = file.read(27)
        if head[:4] != b"OggS"[: len(head)]:
            break  # what follows the film
        table = file.read(head[26]) if len(head) == 27 else b""
        if len(head) < 27 or len(table) < head[26]:
            return within("a page's header", len(head) + len(table), 27 + len(table) + 1)
        serial, number = head[14:18], int.from_bytes(head[18:22], "little")
        length = 27 + len(table) + sum(table)
        if at + length > size:
            return within("a page", size - at, length)
        if head[5] & _FIRST:
            if file.read(8).startswith(_VIDEO):
                open_video.add(serial)
        elif serial in numbers:
            missing += max(0, number - numbers[serial] - 1)
        if head[5] & _LAST:
            open_video.discard(serial)
        numbers[serial] = number
        at += length
    if missing:
        return f"{missing} pages of the Ogg streams are missing"
    return before("the last page of its video") if open_video else None
