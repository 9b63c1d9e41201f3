"""The ends of files of simple containers: APNG, DV, GIF, IVF, MXF."""

from __future__ import annotations

from typing import BinaryIO

from snellen.video.animations import GIF_EXTENSION, GIF_IMAGE, GIF_TRAILER, gif_blocks
from snellen.video.source.ends.message import before, within

_KEY = bytes.fromhex("060e2b34")
_PARTITION = bytes.fromhex("060e2b34020501010d010201")
_FOOTER = 28
"""Where in a partition's value the position of the footer stands."""


def apng(file: BinaryIO, size: int) -> str | None:
    """Walk the chunks of an animated PNG (PNG specification, 5.3): length, name, data, checksum."""
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


def dv(file: BinaryIO, size: int) -> str | None:
    """Check whether raw DV (IEC 61834) ends within a frame of 25 Mbit/s: they have one size."""
    file.seek(0)
    head = file.read(480)
    if len(head) < 480 or head[:1] != b"\x1f" or head[451] & 0x1F:  # another rate
        return None
    length = 144_000 if head[3] & 0x80 else 120_000
    rest = size % length
    return within("a frame", rest, length) if rest else None


def gif(file: BinaryIO, size: int) -> str | None:
    """Walk the blocks of GIF89a (15 to 27) up to the trailer; what follows it does not matter."""
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


def ivf(file: BinaryIO, size: int) -> str | None:
    """Walk the frames of IVF, of 12 bytes and data each, behind a header of 32 bytes.

    Compare their number, or their time, with what the header states.
    """
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


def mxf(file: BinaryIO, size: int) -> str | None:
    """Walk the packets of MXF (SMPTE 336, 377-1): key, length, value.

    The first one tells where the footer is.
    """
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(25)
        if head[:4] != _KEY[: len(head)]:
            return None  # what follows the film
        more = head[16] & 0x7F if len(head) > 16 and head[16] & 0x80 else 0
        if len(head) < 17 + more or more > 8:
            return within("a packet's header", len(head), 17 + more)
        length = int.from_bytes(head[17 : 17 + more], "big") if more else head[16]
        begin = at + 17 + more
        if begin + length > size:
            return within("a packet", size - at, begin + length - at)
        if at == 0 and head[:12] == _PARTITION:
            file.seek(begin + _FOOTER - 4)
            footer = int.from_bytes(file.read(8), "big")
            if footer >= size:
                return before("its footer")
        at = begin + length
    return None
