"""Films whose container hides edges of the pictures."""

from __future__ import annotations

import re
import struct

from support.video.clips import make


def framed(path, left, right, top, bottom, **settings):
    """Write a film of Matroska (.mkv) or mp4 (.mp4, .mov) that is cropped so; return the path."""
    settings = {"frames": 5, "colour": (1, 1, 1, 1), **settings}
    make(path, **settings)
    edges = left, right, top, bottom
    width, height = settings.get("size", (64, 48))
    data = path.read_bytes()
    data = _matroska(data, edges) if path.suffix == ".mkv" else _clap(data, width, height, edges)
    path.write_bytes(data)
    return path


def _matroska(data, edges):
    """Put PixelCrop… in the place of the element Colour, and fill what is left of that."""
    # Its first element follows, by which it is told from the same two bytes of a random identifier.
    at = re.search(rb"\x55\xb0[\x80-\xff]\x55[\xb1-\xbd]", data).start()
    size = 3 + (data[at + 2] & 0x7F)
    identifiers = b"\x54\xcc", b"\x54\xdd", b"\x54\xbb", b"\x54\xaa"  # left, right, top, bottom
    crop = b"".join(
        name + b"\x81" + bytes([one]) for name, one in zip(identifiers, edges, strict=True)
    )
    left = size - len(crop)
    assert left >= 2
    void = b"\xec" + bytes([0x80 | left - 2]) + bytes(left - 2)
    return data[:at] + crop + void + data[at + size :]


def _clap(data, width, height, edges):
    """Add the box clap to the first sample entry; the media data comes before it."""
    left, right, top, bottom = edges
    box = struct.pack(
        ">I4s8i", 40, b"clap", width - left - right, 1, height - top - bottom, 1,
        left - right, 2, top - bottom, 2,
    )  # fmt: skip
    data = bytearray(data)
    begin, end = 0, len(data)
    parents = []
    for name, skip in ((b"moov", 8), (b"trak", 8), (b"mdia", 8), (b"minf", 8), (b"stbl", 8),
                       (b"stsd", 16)):  # fmt: skip
        at = begin
        while data[at + 4 : at + 8] != name:
            at += struct.unpack_from(">I", data, at)[0]
            assert at < end
        parents.append(at)
        begin, end = at + skip, at + struct.unpack_from(">I", data, at)[0]
    parents.append(begin)
    end = begin + struct.unpack_from(">I", data, begin)[0]
    assert data.index(b"mdat") < parents[0]
    data[end:end] = box
    for at in parents:
        struct.pack_into(">I", data, at, struct.unpack_from(">I", data, at)[0] + len(box))
    return bytes(data)
