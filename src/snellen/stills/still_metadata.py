"""Metadata of image files: EXIF, XMP, IPTC, comments and PNG's texts, for any format."""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

from PIL import ExifTags, Image
from PIL.PngImagePlugin import PngInfo

XMP, IPTC, PHOTOSHOP = 700, 33723, 34377
"""Tags of TIFF: XMP Specification, part 3; TIFF 6.0 supplement by Adobe."""
COMMENT = "Comment"
"""Key of a comment that has none: of JPEG and GIF."""
LONG_TEXT = 1024
"""Characters above which a text of a PNG is compressed."""

# TIFF 6.0 tags that describe how pixels are stored. A TIFF file lists them among its EXIF tags, but
# the values of the input are wrong for the output. 34675 is the ICC profile, a field of its own, as
# are XMP and IPTC.
_STORAGE = frozenset(
    {*range(254, 260), *range(262, 267), 273, *range(277, 282), 284, 292, 293, 317, 320}
    | {*range(322, 326), 330, *range(338, 343), 347, 512, 513, 514, 529, 530, 532, 34675}
    | {XMP, IPTC, PHOTOSHOP}
)
_IPTC_RESOURCE = 0x0404
"""IPTC among the image resources of Photoshop."""
_PNG_XMP = "XML:com.adobe.xmp"
_RAW_PROFILE = "Raw profile type "
"""Texts in which ImageMagick keeps EXIF, XMP and IPTC: EXIF is read of them, its orientation
applied."""
_ORIENTATION = re.compile(rb"(tiff:Orientation(?:\s*=\s*[\"']|\s*>)\s*)[2-8]")
_EXTENDED = b"HasExtendedXMP"


class Metadata(NamedTuple):
    """Metadata that belong to the pixels of a file."""

    exif: bytes | None
    orientation: int
    """EXIF's, which `exif` has no more."""
    xmp: bytes | None
    iptc: bytes | None
    texts: tuple[tuple[str, str], ...]
    damage: tuple[str, ...]
    lost: tuple[str, ...]


def gathered(image: Image.Image) -> Metadata:
    """Return the metadata of an image file whose pixels have been loaded."""
    exif = image.getexif()
    iptc = iptc_of(exif, image.info.get("photoshop"))
    block, orientation, damage = stripped(exif)
    xmp = image.info.get("xmp")
    lost = []
    if isinstance(xmp, str):
        xmp = xmp.encode()
    if xmp and _EXTENDED in xmp:
        lost.append("the second part of its XMP, which JPEG stores apart, is lost")
    texts, left_out = _texts(image)
    if left_out:
        lost.append(f"its texts {', '.join(left_out)} are lost")
    return Metadata(block, orientation, upright(xmp), iptc, texts, damage, tuple(lost))


def stripped(exif: Image.Exif) -> tuple[bytes | None, int, tuple[str, ...]]:
    """Return an EXIF block that can be written, or None; its orientation; and damage of it."""
    orientation = exif.pop(ExifTags.Base.Orientation, 1)
    for tag in _STORAGE & set(exif):
        del exif[tag]
    if not len(exif):
        return None, orientation, ()
    exif.bigtiff = False  # a BigTIFF's would have offsets of 64 bits, which no EXIF block has
    try:
        block = exif.tobytes()
        Image.Exif().load(block)
    except Exception as error:  # Pillow raises exceptions of nearly every class for damaged tags.
        return None, orientation, (f"its EXIF cannot be read ({error})",)
    return block, orientation, ()


def upright(xmp: bytes | None) -> bytes | None:
    """Return an XMP packet with orientation 1: readers would turn the picture once more."""
    return _ORIENTATION.sub(rb"\g<1>1", xmp) if xmp else None


def iptc_of(exif: Image.Exif, resources: Any = None) -> bytes | None:
    """Return the IPTC data set among the tags of a TIFF file, or of a JPEG's image resources."""
    if isinstance(resources, dict) and isinstance(found := resources.get(_IPTC_RESOURCE), bytes):
        return found or None
    data = exif.get(IPTC)
    if isinstance(data, int):
        data = (data,)
    if isinstance(data, tuple) and all(isinstance(one, int) for one in data):
        order = ">" if exif.endian == ">" else "<"  # bytes, although they are called LONG
        data = b"".join(struct.pack(f"{order}I", one & 0xFFFFFFFF) for one in data)
    if isinstance(data, bytes) and data:
        return data
    return _resource(exif.get(PHOTOSHOP))


def _resource(data: Any) -> bytes | None:
    """Return the IPTC data set among the image resources of Photoshop (8BIM)."""
    if not isinstance(data, bytes):
        return None
    place = 0
    while data[place : place + 4] == b"8BIM" and place + 12 <= len(data):
        kind = int.from_bytes(data[place + 4 : place + 6], "big")
        place += 6
        place += (2 + data[place]) & ~1  # the name, and its length
        size = int.from_bytes(data[place : place + 4], "big")
        place += 4
        if kind == _IPTC_RESOURCE:
            return data[place : place + size] or None
        place += (size + 1) & ~1
    return None


def segment(iptc: bytes) -> bytes:
    """Return the segment APP13 of a JPEG file that holds an IPTC data set."""
    padded = iptc + b"\0" * (len(iptc) & 1)
    resource = struct.pack(">4sHHI", b"8BIM", _IPTC_RESOURCE, 0, len(iptc)) + padded
    body = b"Photoshop 3.0\0" + resource
    return b"\xff\xed" + struct.pack(">H", 2 + len(body)) + body


def _texts(image: Image.Image) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """Return the texts and comments of a file, and the keys of those that cannot be kept."""
    found: list[tuple[str, str]] = []
    left_out = []
    if image.format == "PNG":
        for key, text in getattr(image, "text", {}).items():
            if key.startswith(_RAW_PROFILE):
                if not key.endswith(("exif", "APP1")):
                    left_out.append(key)
            elif key != _PNG_XMP:
                found.append((str(key), str(text)))
    comment: Any = image.info.get("comment")
    if image.format in ("JPEG", "MPO", "GIF") and comment:
        if isinstance(comment, bytes):
            try:
                comment = comment.decode()
            except UnicodeDecodeError:
                comment = comment.decode("latin-1")
        found.append((COMMENT, comment))
    return tuple(found), left_out


def png_info(xmp: bytes | None, texts: tuple[tuple[str, str], ...]) -> PngInfo:
    """Return the texts of a PNG file."""
    info = PngInfo()
    if xmp:
        info.add_itxt(_PNG_XMP, xmp.decode(errors="replace"), zip=len(xmp) > LONG_TEXT)
    for key, text in texts:
        info.add_text(key, text, zip=len(text) > LONG_TEXT)
    return info
