"""Telephones attach more to the picture of a file, which results have not: gain maps, films, depth.

JPEG: Multi-Picture Format (CIPA DC-007), and what Google's and Adobe's pages on motion photos and
gain maps put behind the picture. HEIC and AVIF: ISO/IEC 23008-12. JPEG XL: ISO/IEC 18181-2.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, BinaryIO

from snellen.stills import boxes

_GAIN_MAP = "its gain map, which makes it HDR, is left out"
_FILM = "its short film (a motion photo) is left out"
_DEPTH = "its depth map is left out"

_GAIN_MARKS = re.compile(
    rb"hdrgm:|HDRGainMap(:|Version|Headroom)|hdrgainmap|urn:iso:std:iso:ts:21496|"
    rb"Semantic\s*(=\s*[\"']|>\s*)GainMap"
)
_DEPTH_MARKS = re.compile(rb"GDepth:|photos/dd/1\.0/|Semantic\s*(=\s*[\"']|>\s*)Depth|aux:depth")
_FILM_MARKS = re.compile(rb"ftyp|MotionPhoto_Data")
_MARKER, _CODED = (
    re.compile(before + rb"([^\x00\xff\xd0-\xd7])") for before in (rb"\xff+", rb"\xff")
)
"""A marker of JPEG, and how one ends among entropy-coded data (ITU-T T.81, B.1.1)."""
_JPEG, _END = b"\xff\xd8\xff", 0xD9
_STANDALONE = (0x01, 0xD8)
_MARKERS = 1 << 16
"""Most markers of a picture."""
_MOST = 1 << 28
"""Bytes of a file that are looked at."""
_PREVIEW = "Large Thumbnail"
"""How Pillow calls pictures of the Multi-Picture Format that are smaller versions."""
_ENTRIES, _ATTRIBUTE, _TYPE = 0xB002, "Attribute", "MPType"

_HEIF_GAIN = (b"hdrgainmap", b"tmap")
"""The type of Apple's auxiliary image, and of a derived item with a gain map (ISO 21496-1)."""
_HEIF_DEPTH = (b"aux:depth", b"auxiliary:depth", b"auxid:2\0")
_MOTION = b"mpvd"
"""A box with the film of a motion photo."""
_JXL_GAIN = b"jhgm"


def of_jpeg(file: BinaryIO, image: Any, xmp: bytes) -> list[str]:
    """Return a sentence about each thing behind the picture of a JPEG file, which Pillow has, too.

    `xmp` is its XMP, which names some of them; empty: there is none.
    """
    file.seek(0)
    behind = _behind(file.read(_MOST))
    if not behind.strip(b"\0\xff \r\n"):
        return []
    others = _JPEG in behind
    gain = bool(_GAIN_MARKS.search(behind) or (others and _GAIN_MARKS.search(xmp)))
    depth = bool(_DEPTH_MARKS.search(behind) or (others and _DEPTH_MARKS.search(xmp)))
    film = _FILM_MARKS.search(behind) is not None
    found = [text for is_there, text in ((gain, _GAIN_MAP), (depth, _DEPTH), (film, _FILM))
             if is_there]  # fmt: skip
    if found or (others and _has_previews_only(image)):
        return found
    if others:
        return ["another picture behind it is left out"]
    return [f"{len(behind):,} bytes behind its picture are left out"]


def of_boxes(file: BinaryIO) -> list[str]:
    """Return a sentence about each thing beside the picture of a HEIC, AVIF or JPEG XL file."""
    found = []
    for box in boxes.boxes(file, 0, file.seek(0, 2)):
        if box.kind == b"meta":
            inside = boxes.content(file, box)
            if any(mark in inside for mark in _HEIF_GAIN):
                found.append(_GAIN_MAP)
            if any(mark in inside for mark in _HEIF_DEPTH):
                found.append(_DEPTH)
        elif box.kind == _MOTION:
            found.append(_FILM)
        elif box.kind == _JXL_GAIN:
            found.append(_GAIN_MAP)
    return list(dict.fromkeys(found))


def _behind(data: bytes) -> bytes:
    """Return the bytes behind the picture of a JPEG; none where it has no end."""
    at, coded = 2, False
    for _ in range(_MARKERS):
        marker = _CODED.search(data, at) if coded else _MARKER.match(data, at)
        if marker is None:
            break
        kind, at = marker[1][0], marker.end()
        if kind == _END:
            return data[at:]
        if kind not in _STANDALONE:
            at += int.from_bytes(data[at : at + 2], "big")
        coded |= kind == 0xDA
    return b""


def _has_previews_only(image: Any) -> bool:
    """Return whether all further pictures are smaller versions of the first one."""
    with suppress(AttributeError, KeyError, TypeError):
        kinds = [entry[_ATTRIBUTE][_TYPE] for entry in image.mpinfo[_ENTRIES][1:]]
        return bool(kinds) and all(str(kind).startswith(_PREVIEW) for kind in kinds)
    return False
