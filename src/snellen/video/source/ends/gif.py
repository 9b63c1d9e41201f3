"""The end of GIF files, by their blocks (GIF89a, sections 15 to 27)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import before, within

_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B


def blocks(file: BinaryIO, size: int) -> str | None:
    """Walk the blocks up to the trailer; what follows it does not matter."""
    file.seek(0)
    head = file.read(13)
    if head[:3] != b"GIF" or len(head) < 13:
        return None
    file.seek(_table(head[10]), 1)
    while kind := file.read(1):
        if kind[0] == _TRAILER:
            return None
        if kind[0] == _EXTENSION:
            file.seek(1, 1)
        elif kind[0] == _IMAGE:
            head = file.read(9)
            file.seek(_table(head[8]) + 1 if len(head) == 9 else 0, 1)
        elif kind[0]:  # zeros between blocks are skipped
            return "bytes that are no block stand before the end of the input"
        else:
            continue
        if not _skipped(file, size):
            name = "a picture" if kind[0] == _IMAGE else "an extension"
            return f"the input ends early: within {name}"
    return within("its header", size, file.tell()) if file.tell() > size else before("its trailer")


def _table(packed: int) -> int:
    """Return how many bytes a colour table has, by the byte that announces it."""
    return 3 << ((packed & 7) + 1) if packed & 0x80 else 0


def _skipped(file: BinaryIO, size: int) -> bool:
    """Skip sub-blocks up to the empty one; return whether they are complete."""
    while length := file.read(1):
        if not length[0]:
            return True
        file.seek(length[0], 1)
    return False
