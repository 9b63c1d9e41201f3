"""The ends of files of simple containers: APNG, ASF, AVI, DV, FLV, GIF, IVF, MXF, Ogg."""

from __future__ import annotations

import struct
from typing import BinaryIO

from snellen.video.animations import GIF_EXTENSION, GIF_IMAGE, GIF_TRAILER, gif_blocks
from snellen.video.source.ends.parts import before, read_at, within

_MXF_KEY = bytes.fromhex("060e2b34")
_MXF_PARTITION = bytes.fromhex("060e2b34020501010d010201")
_MXF_FOOTER = 28
"""Where in a partition's value the position of the footer stands."""


def apng(file: BinaryIO, size: int) -> str | None:
    """Walk the chunks of an animated PNG (PNG specification, 5.3): length, name, data, checksum."""
    at = 8
    while at < size:
        head = read_at(file, at, 8)
        length = 12 + int.from_bytes(head[:4], "big")
        if len(head) < 8 or at + length > size:
            return within("a chunk", size - at, length if len(head) == 8 else 12)
        if head[4:] == b"IEND":
            return None
        at += length
    return before("its last chunk, IEND")


def dv(file: BinaryIO, size: int) -> str | None:
    """Check whether raw DV (IEC 61834) ends within a frame of 25 Mbit/s: they have one size."""
    head = read_at(file, 0, 480)
    if len(head) < 480 or head[:1] != b"\x1f" or head[451] & 0x1F:  # another rate
        return None
    length = 144_000 if head[3] & 0x80 else 120_000
    rest = size % length
    return within("a frame", rest, length) if rest else None


def gif(file: BinaryIO, size: int) -> str | None:
    """Walk the blocks of GIF89a (15 to 27) up to the trailer; what follows it does not matter."""
    head = read_at(file, 0, 13)
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
    head = read_at(file, 0, 32)
    if head[:4] != b"DKIF" or len(head) < 32:
        return None
    at, stated = int.from_bytes(head[6:8], "little"), int.from_bytes(head[24:28], "little")
    count, times = 0, [0, 0]
    while at < size:
        head = read_at(file, at, 12)
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
        head = read_at(file, at, 25)
        if head[:4] != _MXF_KEY[: len(head)]:
            return None  # what follows the film
        more = head[16] & 0x7F if len(head) > 16 and head[16] & 0x80 else 0
        if len(head) < 17 + more or more > 8:
            return within("a packet's header", len(head), 17 + more)
        length = int.from_bytes(head[17 : 17 + more], "big") if more else head[16]
        begin = at + 17 + more
        if begin + length > size:
            return within("a packet", size - at, begin + length - at)
        if at == 0 and head[:12] == _MXF_PARTITION:
            footer = int.from_bytes(read_at(file, begin + _MXF_FOOTER - 4, 8), "big")
            if footer >= size:
                return before("its footer")
        at = begin + length
    return None


_ASF_HEADER = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")
_ASF_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
_ASF_DATA = bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c")
_ASF_INDEX = bytes.fromhex("90080033b1e5cf1189f400a0c90349cb")
_ASF_BROADCAST = 1
"""Flag of a live stream, whose numbers are not known."""
_ASF_MOST = 1 << 22
"""Bytes of the header, and of the end, that are searched."""


def asf(file: BinaryIO, size: int) -> str | None:
    """Compare the stated number of packets with the file; of a live stream check the last one."""
    head = read_at(file, 0, _ASF_MOST)
    at = head.find(_ASF_PROPERTIES)
    if head[:16] != _ASF_HEADER or at < 0 or len(head) < at + 104:
        return None
    start = int.from_bytes(head[16:24], "little")
    count = int.from_bytes(head[at + 56 : at + 64], "little")
    flags = int.from_bytes(head[at + 88 : at + 92], "little")
    length = int.from_bytes(head[at + 96 : at + 100], "little")
    if start > size:
        return within("its header", size, start)
    data = read_at(file, start, 24)
    if data[:16] != _ASF_DATA or not length:
        return within("its header", size, start + 50) if start + 50 > size else None
    start += 50
    if count and not flags & _ASF_BROADCAST:
        need = start + count * length
        return within("its data packets", size - start, need - start) if need > size else None
    tail = read_at(file, max(start, size - _ASF_MOST), _ASF_MOST)
    index = tail.rfind(_ASF_INDEX)
    if index >= 0 and (size - len(tail) + index - start) % length == 0:
        return None
    rest = (size - start) % length
    return within("a packet", rest, length) if rest and size > start else None


_AVI_UNKNOWN = (0, 0xFFFFFFFF)
"""Lengths of lists that were never completed, as in a pipe."""
_AVI_LISTS = (b"RIFF", b"LIST")
_AVI_NAMES = (*_AVI_LISTS, b"idx1", b"JUNK", b"indx")
_AVI_KINDS = (b"dc", b"db", b"wb", b"tx", b"pc", b"sb")
"""How the name of a stream's chunk ends, behind its number."""
_AVI_HEADER = 8
"""Bytes in front of a chunk's data; some programs count them in."""


def avi(file: BinaryIO, size: int) -> str | None:
    """Walk the RIFF lists; in one of unknown length, its chunks."""
    at = 0
    while at < size:
        head = read_at(file, at, _AVI_HEADER)
        if not _is_avi_chunk(head[:4]):
            return None  # what follows the film
        length = int.from_bytes(head[4:], "little")
        end = at + _AVI_HEADER + length
        if head[:4] in _AVI_LISTS and len(head) == _AVI_HEADER and length in _AVI_UNKNOWN:
            at += _AVI_HEADER + 4
            continue
        if len(head) < _AVI_HEADER or end > size + (_AVI_HEADER if head[:4] == b"RIFF" else 0):
            name = "its RIFF list" if head[:4] == b"RIFF" else "a chunk"
            return within(name, size - at, _AVI_HEADER + length)
        at = end + length % 2
    return None


def _is_avi_chunk(name: bytes) -> bool:
    """Return whether a name, or what is there of it, is that of a list or chunk."""
    if any(known.startswith(name) for known in _AVI_NAMES) or name[:2] == b"ix":
        return True
    return name[:2].isdigit() and any(kind.startswith(name[2:]) for kind in _AVI_KINDS)


_FLV_SOUND, _FLV_VIDEO, _FLV_SCRIPT = 8, 9, 18
_FLV_SLACK = 0.1
"""Seconds by which a stated duration may exceed the last tag and the widest gap between tags."""


def flv(file: BinaryIO, size: int) -> str | None:
    """Walk the tags: type, length, time, data, length of all this."""
    head = read_at(file, 0, 9)
    if head[:3] != b"FLV":
        return None
    at = int.from_bytes(head[5:9], "big") + 4
    stated: dict[str, float] = {}
    last = shown = widest = 0
    while at < size:
        head = read_at(file, at, 11)
        kind, length = head[0] & 0x1F, int.from_bytes(head[1:4], "big")
        if kind not in (_FLV_SOUND, _FLV_VIDEO, _FLV_SCRIPT):
            break  # what follows the film, or is broken
        if len(head) < 11 or at + 11 + length + 4 > size:
            return within("a tag", size - at, 11 + length + 4)
        if kind == _FLV_SCRIPT and not stated:
            stated = _flv_stated(file.read(length))
        elif kind != _FLV_SCRIPT:
            time = int.from_bytes(head[7:8] + head[4:7], "big")
            shift = _flv_shift(file.read(min(length, 8))) if kind == _FLV_VIDEO else 0
            if kind == _FLV_VIDEO:
                widest, shown = max(widest, time - shown), max(shown, time)
            last = max(last, time + shift)
        at += 15 + length
    if stated.get("filesize", 0) > size:
        return within("the file", size, int(stated["filesize"]))
    duration = stated.get("duration", 0)
    if duration > (last + 2 * widest) / 1000 + _FLV_SLACK:
        return f"the input ends early: at {last / 1000:.3f} s of the {duration:.3f} s it promises"
    return None


def _flv_shift(data: bytes) -> int:
    """Return by how many milliseconds a picture is shown after the time of its tag (E.4.3.1)."""
    if data[:1] and data[0] & 0x80:  # a codec's four letters follow
        offset = data[5:8] if data[0] & 0xF == 1 and data[1:5] in (b"avc1", b"hvc1") else b""
    else:
        offset = data[2:5] if len(data) > 1 and data[0] & 0xF in (7, 12) and data[1] == 1 else b""
    return max(0, int.from_bytes(offset, "big", signed=True))


def _flv_stated(data: bytes) -> dict[str, float]:
    """Return the numbers of a script tag's metadata: name, type 0, float64 (AMF 0)."""
    found = {}
    for name in ("duration", "filesize"):
        at = data.find(name.encode() + b"\0") + len(name) + 1
        if at > len(name) and len(data) >= at + 8:
            (value,) = struct.unpack(">d", data[at : at + 8])
            found[name] = value if 0 <= value < 1 << 60 else 0
    return found


_OGG_VIDEO = (b"\x80theora", b"BBCD\0", b"OVP80", b"\x01video")
"""How the first packet of a stream of video begins: Theora, Dirac, VP8, OGM."""
_OGG_FIRST, _OGG_LAST = 2, 4
"""Flags of the first and the last page of a stream."""


def ogg(file: BinaryIO, size: int) -> str | None:
    """Walk the pages; count those that are missing, and look for the last one of the video."""
    at, missing = 0, 0
    numbers: dict[bytes, int] = {}
    open_video: set[bytes] = set()
    while at < size:
        head = read_at(file, at, 27)
        if head[:4] != b"OggS"[: len(head)]:
            break  # what follows the film
        table = file.read(head[26]) if len(head) == 27 else b""
        if len(head) < 27 or len(table) < head[26]:
            return within("a page's header", len(head) + len(table), 27 + len(table) + 1)
        serial, number = head[14:18], int.from_bytes(head[18:22], "little")
        length = 27 + len(table) + sum(table)
        if at + length > size:
            return within("a page", size - at, length)
        if head[5] & _OGG_FIRST:
            if file.read(8).startswith(_OGG_VIDEO):
                open_video.add(serial)
        elif serial in numbers:
            missing += max(0, number - numbers[serial] - 1)
        if head[5] & _OGG_LAST:
            open_video.discard(serial)
        numbers[serial] = number
        at += length
    if missing:
        return f"{missing} pages of the Ogg streams are missing"
    return before("the last page of its video") if open_video else None
