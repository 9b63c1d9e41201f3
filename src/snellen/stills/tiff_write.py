"""Writes TIFF files: grey and colour of 8 and 16 bits and floats, in strips, without loss.

Pillow writes the directory of tags; libtiff packs the strips, each as a small TIFF file in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import BytesIO
from typing import IO

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2
from PIL.TiffTags import TAGS_V2_GROUPS

from snellen.frames.still_value import Still
from snellen.frames.tiff_kinds import (
    BITS,
    COMPRESSION,
    EXTRA,
    FLOAT,
    FORMAT,
    GREY,
    PHOTOMETRIC,
    PLANAR,
    RGB,
    SAMPLES,
    UINT,
    several,
)
from snellen.stills.still_metadata import IPTC, XMP
from snellen.stills.tiff import (
    COUNTS,
    DEFLATE,
    HEIGHT,
    NUMBERS,
    OFFSETS,
    PREDICTOR,
    PROFILE,
    ROWS,
    UNIT,
    WIDTH,
    X_RESOLUTION,
    Y_RESOLUTION,
    Array,
    Bytes,
    directory,
)

_LONG, _LONG8 = 4, 16
"""Types of values."""
WRITTEN = ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "lzma", "zstd")
_PREDICTED = ("tiff_lzw", DEFLATE, "lzma", "zstd")
"""Compressions for which differences of neighbours are stored."""
_STRIP = 1 << 18
"""Bytes of a strip that is written."""
BIG = 0xF0000000
"""Bytes of samples from which a file is a BigTIFF, whose offsets have 64 bits."""


def packed(rows: Bytes, compression: str) -> bytes:
    """Return a strip of bytes, (rows, across), compressed."""
    out = BytesIO()
    Image.fromarray(rows).save(out, "TIFF", compression=compression, strip_size=1 << 30)
    out.seek(0)
    tags = directory(out)
    assert tags is not None
    (offset,), (count,) = several(tags, OFFSETS), several(tags, COUNTS)
    return out.getvalue()[offset : offset + count]


def write(file: IO[bytes], still: Still, big: bool | None = None, behind: int | None = None) -> int:
    """Write a TIFF file, or a further page of one; return where the next page is to be noted.

    `file` is empty, and seekable. It is compressed as the source was; JPEG and fax become Deflate.
    All pages have in common whether the file is a BigTIFF, `big`; None: by the size of this one.
    `behind` is what the page before has returned; None: this is the first.
    """
    compression = still.compression or "raw"
    compression = compression if compression in WRITTEN else DEFLATE
    pixels = still.pixels[..., [0, 3]] if still.grey_alpha else still.pixels
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    height, width, samples = pixels.shape
    big = pixels.nbytes > BIG if big is None else big
    head = b"II\x2b\0\x08\0\0\0" + bytes(8) if big else b"II\x2a\0" + bytes(4)
    tags = ImageFileDirectory_v2(head)
    _take_exif(tags, still.exif)
    rows = max(1, min(height, _STRIP // (width * samples * pixels.itemsize)))
    predictor = 1
    if compression in _PREDICTED:
        predictor = 3 if pixels.dtype.kind == "f" else 2
    if behind is None:
        file.write(head)
        behind = 8 if big else 4
    else:
        file.write(bytes(file.seek(0, 2) & 1))  # directories begin at even offsets
    offsets, counts = [], []
    for strip in _strips(pixels, rows, predictor):
        data = strip.tobytes() if compression == "raw" else packed(strip, compression)
        offsets.append(file.tell())
        counts.append(len(data))
        file.write(data + bytes(len(data) & 1))
    tags[WIDTH], tags[HEIGHT] = width, height
    tags[BITS] = (8 * pixels.itemsize,) * samples
    tags[FORMAT] = (FLOAT if pixels.dtype.kind == "f" else UINT,) * samples
    tags[COMPRESSION], tags[PREDICTOR] = NUMBERS[compression], predictor
    tags[PHOTOMETRIC] = RGB if samples > 2 else GREY
    tags[SAMPLES], tags[PLANAR], tags[ROWS] = samples, 1, rows
    tags.tagtype[OFFSETS] = tags.tagtype[COUNTS] = _LONG8 if big else _LONG
    tags[OFFSETS], tags[COUNTS] = (0,) * len(offsets), tuple(counts)
    if samples in (2, 4):
        tags[EXTRA] = 2
    if still.dpi:
        tags[UNIT], tags[X_RESOLUTION], tags[Y_RESOLUTION] = 2, still.dpi[0], still.dpi[1]
    about = (PROFILE, 7, still.profile), (XMP, 1, still.xmp), (IPTC, 7, still.iptc)
    for tag, kind, value in about:
        if value:
            tags.tagtype[tag] = kind
            tags[tag] = value
    place = file.tell()
    ifd = _with_offsets(bytearray(tags.tobytes(place)), place, offsets, big)
    file.write(ifd)
    file.seek(behind)
    file.write(struct.pack("<Q" if big else "<I", place))
    (entries,) = struct.unpack_from("<Q" if big else "<H", ifd)
    return place + int(8 + 20 * entries if big else 2 + 12 * entries)


def _take_exif(tags: ImageFileDirectory_v2, block: bytes | None) -> None:
    """Add the tags of an EXIF block to a directory."""
    if not block:
        return
    exif = Image.Exif()
    exif.load(block)
    for key in exif:
        tags[key] = exif.get_ifd(key) if key in TAGS_V2_GROUPS else exif.get(key)


def _with_offsets(ifd: bytearray, place: int, offsets: list[int], big: bool) -> bytearray:
    """Return the directory at a place with offsets of strips, where Pillow has written others."""
    counter, entry, word = (8, 20, "Q") if big else (2, 12, "I")
    values = struct.pack(f"<{len(offsets)}{word}", *offsets)
    at = counter
    while struct.unpack_from("<H", ifd, at)[0] != OFFSETS:
        at += entry
    at += entry - struct.calcsize(word)
    if len(offsets) > 1:
        at = struct.unpack_from(f"<{word}", ifd, at)[0] - place
    ifd[at : at + len(values)] = values
    return ifd


def _strips(pixels: Array, rows: int, predictor: int) -> Iterator[Bytes]:
    """Yield the bytes of strips, (rows, bytes of a row)."""
    samples = pixels.shape[2]
    stored = pixels.dtype.newbyteorder("<")
    for top in range(0, len(pixels), rows):
        strip = np.ascontiguousarray(pixels[top : top + rows], stored)
        high = len(strip)
        if predictor == 3:
            floats = strip.astype(stored.newbyteorder(">")).reshape(high, -1, 1)
            strip = floats.view(np.uint8).swapaxes(1, 2).reshape(high, -1, samples)
        if predictor > 1:
            differences = strip.copy()
            differences[:, 1:] -= strip[:, :-1]
            strip = differences
        yield np.ascontiguousarray(strip).reshape(high, -1).view(np.uint8)
