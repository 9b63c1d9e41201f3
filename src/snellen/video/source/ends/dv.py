"""The end of raw DV files, whose frames have one size (IEC 61834)."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import within


def frames(file: BinaryIO, size: int) -> str | None:
    """Check whether the file ends within a frame of 25 Mbit/s."""
    file.seek(0)
    head = file.read(480)
    if len(head) < 480 or head[:1] != b"\x1f" or head[451] & 0x1F:  # another rate
        return None
    length = 144_000 if head[3] & 0x80 else 120_000
    rest = size % length
    return within("a frame", rest, length) if rest else None
