"""The end of IVF files: a header of 32 bytes, then frames of 12 bytes and their data."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.source.ends.message import within


def frames(file: BinaryIO, size: int) -> str | None:
    """Walk the frames; compare their number, or their time, with what the header states."""
    file.seek(0)
    head = file.read(32)
    if head[:4] != b"DKIF" or len(head) < 32:
        return None
    at, stated = int.from_bytes(head[6:8], "little"), int.from_bytes(head[24:28], "little")
    count, times = 0, [0, 0]
    while at < size:
        file.seek(at)
        head = file.read(12)
        length = int.from_bytes(head[:4], "little")
        if len(head) < 12 or at + 12 + length > size:
            return within("a frame", size - at, 12 + length)
        times = [times[1], int.from_bytes(head[4:], "little")]
        count, at = count + 1, at + 12 + length
    # libvpx states the number of frames, FFmpeg the duration; neither is known of a live stream.
    reached = max(count, times[1] + max(1, times[1] - times[0]))
    if reached < stated < 0xFFFFFFFF:
        return f"the input ends early: at {reached} of the {stated} ticks it promises"
    return None
