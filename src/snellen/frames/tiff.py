"""TIFF files that Pillow cannot read, of 16-bit and float colour; see tiff_write.py for the others.

Pillow reads the directory of tags. Strips and tiles are unpacked by libtiff, each as a small TIFF
file in memory whose pixels are the bytes (TIFF 6.0; TIFF Technical Note 3 for the predictor of
floats).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from snellen.frames import limits

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, FILL_ORDER = 256, 257, 258, 259, 262, 266
OFFSETS, SAMPLES, ROWS, COUNTS, X_RESOLUTION, Y_RESOLUTION = 273, 277, 278, 279, 282, 283
PLANAR, UNIT, PREDICTOR, EXTRA, FORMAT, PROFILE = 284, 296, 317, 338, 339, 34675
TILE_WIDTH, TILE_HEIGHT, TILE_OFFSETS, TILE_COUNTS = 322, 323, 324, 325
ORIENTATION, DNG_VERSION = 274, 50706

MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
NAMES = {
    1: "raw", 5: "tiff_lzw", 8: "tiff_adobe_deflate", 32773: "packbits", 32946: "tiff_deflate",
    34925: "lzma", 50000: "zstd",
}  # fmt: skip
"""Pillow's names of the compressions without loss that are read and written."""
NUMBERS = {name: number for number, name in NAMES.items()}
DEFLATE = "tiff_adobe_deflate"

_WHITE_IS_ZERO, GREY, RGB = 0, 1, 2
UINT, FLOAT = 1, 3


@dataclass(frozen=True, slots=True)
class Layout:
    """How the samples of a TIFF file are stored."""

    width: int
    height: int
    samples: int
    """Samples of a pixel."""
    dtype: np.dtype[Any]
    """Of a sample, in the file's order of bytes."""
    part: tuple[int, int]
    """Rows and columns of a strip or tile."""
    tiled: bool
    offsets: tuple[int, ...]
    counts: tuple[int, ...]
    planar: bool
    """Whether each sample has strips of its own."""
    compression: str
    predictor: int
    extra: int | None
    """Kind of the last of two or four samples: 0 unspecified, 1 premultiplied alpha, 2 alpha."""
    inverted: bool
    """Whether 0 is white."""


def directory(file: BinaryIO, at: int | None = None) -> ImageFileDirectory_v2 | None:
    """Return the first directory of a TIFF file, or that at an offset; None: it is no such file."""
    file.seek(0)
    head = file.read(8)
    if head[:4] not in MAGIC:
        return None
    if head[2:3] == b"+" or head[3:4] == b"+":
        head += file.read(8)
    tags = ImageFileDirectory_v2(head)
    file.seek(tags.next if at is None else at)
    tags.load(file)
    return tags


def exif_of(file: BinaryIO, at: int | None = None) -> Image.Exif:
    """Return the tags of a TIFF file as EXIF, of the first directory or that at an offset."""
    file.seek(0)
    head = file.read(16)
    exif = Image.Exif()
    exif.endian = ">" if head[:2] == b"MM" else "<"
    exif.bigtiff = b"+" in head[2:4]
    start = head[8:16] if exif.bigtiff else head[4:8]
    first = int.from_bytes(start, "big" if exif.endian == ">" else "little")
    exif.load_from_fp(file, first if at is None else at)
    return exif


def is_ours(tags: ImageFileDirectory_v2) -> bool:
    """Return whether Pillow cannot read the samples, or not all of their bits, and we can."""
    bits, kind = set(several(tags, BITS, 1)), set(several(tags, FORMAT, UINT))
    samples = int(tags.get(SAMPLES, 1))
    if tags.get(PHOTOMETRIC) not in (_WHITE_IS_ZERO, GREY, RGB) or not 1 <= samples <= 4:
        return False
    if kind == {FLOAT}:
        return bits in ({16}, {32}, {64}) and (samples > 1 or bits == {16})
    return kind == {UINT} and bits == {16} and samples > 1


def layout(tags: ImageFileDirectory_v2) -> Layout:
    """Return how samples are stored.

    Raises
    ------
    ValueError
        The tags contradict each other, or say what is not supported.
    """
    width, height = int(tags[WIDTH]), int(tags[HEIGHT])
    samples, bits = int(tags.get(SAMPLES, 1)), several(tags, BITS, 1)[0]
    kind = "f" if several(tags, FORMAT, UINT)[0] == FLOAT else "u"
    order = ">" if tags.prefix == b"MM" else "<"
    tiled = TILE_OFFSETS in tags
    if tiled:
        part = int(tags[TILE_HEIGHT]), int(tags[TILE_WIDTH])
    else:
        part = min(int(tags.get(ROWS, height)), height), width
    if min(width, height, *part) < 1:
        raise ValueError(f"a picture of {width}×{height} in parts of {part[1]}×{part[0]}")
    planar = int(tags.get(PLANAR, 1)) == 2
    offsets = several(tags, TILE_OFFSETS if tiled else OFFSETS)
    counts = several(tags, TILE_COUNTS if tiled else COUNTS)
    wanted = -(-height // part[0]) * -(-width // part[1]) * (samples if planar else 1)
    if not wanted <= min(len(offsets), len(counts)):
        raise ValueError(f"{min(len(offsets), len(counts))} strips or tiles of {wanted}")
    compression = int(tags.get(COMPRESSION, 1))
    if compression not in NAMES or int(tags.get(FILL_ORDER, 1)) != 1:
        raise ValueError(f"deep colour with compression {compression} is not supported")
    extra = several(tags, EXTRA) if EXTRA in tags else ()
    return Layout(
        width, height, samples, np.dtype(f"{order}{kind}{bits // 8}"), part, tiled, offsets,
        counts, planar, NAMES[compression], int(tags.get(PREDICTOR, 1)),
        int(extra[-1]) if extra else None, tags.get(PHOTOMETRIC) == _WHITE_IS_ZERO,
    )  # fmt: skip


def several(tags: ImageFileDirectory_v2, tag: int, default: int | None = None) -> tuple[int, ...]:
    """Return the values of a tag that may have one or several."""
    value: Any = tags.get(tag, default)
    return tuple(int(one) for one in value) if isinstance(value, tuple) else (int(value),)


def read(file: BinaryIO, about: Layout) -> Array:
    """Return all samples, (H, W, samples), in this machine's order of bytes.

    Raises
    ------
    ValueError, OSError
        A strip ends early, or cannot be unpacked.
    """
    out = np.empty((about.height, about.width, about.samples), about.dtype.newbyteorder("="))
    planes = [out[..., i : i + 1] for i in range(about.samples)] if about.planar else [out]
    rows, columns = about.part
    parts = iter(zip(about.offsets, about.counts, strict=False))
    limits.check_size("a strip or tile", columns, rows)
    for plane in planes:
        for top in range(0, about.height, rows):
            for left in range(0, about.width, columns):
                # Tiles are whole ones, also at the edges; of strips the last one may be shorter.
                high = rows if about.tiled else min(rows, about.height - top)
                piece = _part(file, about, *next(parts), high, plane.shape[2])
                goal = plane[top : top + rows, left : left + columns]
                goal[...] = piece[: goal.shape[0], : goal.shape[1]]
    return out


def _part(file: BinaryIO, about: Layout, offset: int, count: int, rows: int, samples: int) -> Array:
    """Return a strip or a tile, (rows, columns, samples)."""
    columns = about.part[1]
    across = columns * samples * about.dtype.itemsize
    file.seek(offset)
    data = file.read(min(count, 2 * rows * across + (1 << 16)))
    if about.compression == "raw":
        if len(data) < rows * across:
            raise ValueError("a strip or tile ends early")
        flat = np.frombuffer(data, np.uint8, rows * across).reshape(rows, across)
    else:
        flat = unpacked(data, about.compression, rows, across)
    if about.predictor == 3:
        return _summed_floats(flat, about.dtype, samples).reshape(rows, columns, samples)
    piece = np.ascontiguousarray(flat).view(about.dtype).reshape(rows, columns, samples)
    if about.predictor == 2:
        unsigned = piece.view(f"{piece.dtype.byteorder}u{piece.dtype.itemsize}")
        whole = unsigned.dtype.newbyteorder("=")
        piece = np.cumsum(unsigned, axis=1, dtype=whole).view(piece.dtype.newbyteorder("="))
    return piece


def _summed_floats(flat: Bytes, dtype: np.dtype[Any], samples: int) -> Array:
    """Return floats of which the bytes are stored as differences, the highest ones first."""
    rows, across = flat.shape
    sums = np.cumsum(flat.reshape(rows, -1, samples), axis=1, dtype=np.uint8)
    planes = sums.reshape(rows, dtype.itemsize, across // dtype.itemsize)
    highest_first = np.ascontiguousarray(planes.swapaxes(1, 2))
    return highest_first.view(dtype.newbyteorder(">"))


def unpacked(data: bytes, compression: str, rows: int, across: int) -> Bytes:
    """Return the bytes of a strip or tile, (rows, across)."""
    entries = (
        (WIDTH, across), (HEIGHT, rows), (BITS, 8), (COMPRESSION, NUMBERS[compression]),
        (PHOTOMETRIC, GREY), (OFFSETS, 8), (SAMPLES, 1), (ROWS, rows), (COUNTS, len(data)),
    )  # fmt: skip
    ifd = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    file = struct.pack("<2sHI", b"II", 42, 8 + len(data)) + data
    file += struct.pack("<H", len(entries)) + ifd + bytes(4)
    with Image.open(BytesIO(file), formats=("TIFF",)) as image:
        return np.asarray(image)
