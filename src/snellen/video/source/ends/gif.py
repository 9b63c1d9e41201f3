"""The end of GIF files, by their blocks (GIF89a, sections 15 to 27)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.animations import GIF_EXTENSION, GIF_IMAGE, GIF_TRAILER, gif_blocks
from snellen.video.source.ends.message import before, within


def blocks(file: BinaryIO, size: int) -> str | None:
    """Walk the blocks up to the trailer; what follows it does not matter."""
    file.seek(0)
    head = file.read(13)
    if head[:3] != b"GIF" or len(head) < 13:
        return None
    for block in gif_blocks(file):
        if block.kind == GIF_TRAILER:
            return None
        if block.kind not in (GIF_EXTENSION, GIF_IMAGE):
            return "bytes that are no block stand before the end of the input"
        if not block.whole:
            name = "a picture" if block.kind == GIF_IMAGE else "an extension"
            return f"the input ends early: within {name}"
    return within("its header", size, file.tell()) if file.tell() > size else before("its trailer")
