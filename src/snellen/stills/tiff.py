"""TIFF files whose samples Pillow does not read as they are, or not all of them (tiff_kinds.py).

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
from snellen.frames.tiff_kinds import (
    BITS,
    COMPRESSION,
    FILL_ORDER,
    FLOAT,
    GREY,
    NAMES,
    PHOTOMETRIC,
    SAMPLES,
    Kind,
    kind_of,
    several,
)

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

WIDTH, HEIGHT, OFFSETS, ROWS, COUNTS = 256, 257, 273, 278, 279
X_RESOLUTION, Y_RESOLUTION, UNIT, PREDICTOR, PROFILE = 282, 283, 296, 317, 34675
TILE_WIDTH, TILE_HEIGHT, TILE_OFFSETS, TILE_COUNTS = 322, 323, 324, 325
ORIENTATION, SUB_IFDS, DNG_VERSION = 274, 330, 50706

MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
NUMBERS = {name: number for number, name in NAMES.items()}
DEFLATE = "tiff_adobe_deflate"
_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], 1)
"""Bytes with their bits in the other order, by byte."""
_BLOCK = 64
"""Rows of a strip whose samples are taken from bits at once, which takes much memory."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the samples of a TIFF file are stored."""

    width: int
    height: int
    kind: Kind
    """The kind of the samples."""
    bits: int
    """Bits of a sample."""
    dtype: np.dtype[Any]
    """The type of a sample, in the file's order of bytes; that of the array where a sample has
    other bits than 8, 16, 32 and 64."""
    part: tuple[int, int]
    """Rows and columns of a strip or tile."""
    tiled: bool
    offsets: tuple[int, ...]
    counts: tuple[int, ...]
    compression: str
    predictor: int

    @property
    def wanted(self) -> tuple[int, ...]:
        """Which samples of a pixel are read: colours and alpha."""
        alpha = self.kind.alpha
        return (*range(self.kind.colours), *(() if alpha is None else (alpha,)))


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


def layout(tags: ImageFileDirectory_v2) -> Layout:
    """Return how samples are stored, of a kind that is ours.

    ValueError: the tags contradict each other, or say what is not supported.
    """
    width, height = int(tags[WIDTH]), int(tags[HEIGHT])
    kind = kind_of(tags)
    assert kind.bits is not None
    form = "f" if kind.format == FLOAT else "u"
    order = ">" if tags.prefix == b"MM" else "<"
    stored = 8 if kind.bits <= 8 else kind.bits if form == "f" else 16
    tiled = TILE_OFFSETS in tags
    if tiled:
        part = int(tags[TILE_HEIGHT]), int(tags[TILE_WIDTH])
    else:
        part = min(int(tags.get(ROWS, height)), height), width
    if min(width, height, *part) < 1:
        raise ValueError(f"a picture of {width}×{height} in parts of {part[1]}×{part[0]}")
    offsets = several(tags, TILE_OFFSETS if tiled else OFFSETS)
    counts = several(tags, TILE_COUNTS if tiled else COUNTS)
    planes = kind.samples if kind.planar else 1
    wanted = -(-height // part[0]) * -(-width // part[1]) * planes
    if not wanted <= min(len(offsets), len(counts)):
        raise ValueError(f"{min(len(offsets), len(counts))} strips or tiles of {wanted}")
    predictor = int(tags.get(PREDICTOR, 1))
    if predictor not in (1, 2, 3) or (predictor > 1 and kind.bits != stored):
        raise ValueError(f"predictor {predictor} of samples of {kind.bits} bits")
    return Layout(
        width, height, kind, kind.bits, np.dtype(f"{order}{form}{stored // 8}"), part, tiled,
        offsets, counts, NAMES[kind.compression], predictor,
    )  # fmt: skip


def read(file: BinaryIO, about: Layout) -> Array:
    """Return the samples that are wanted, (H, W, samples), in this machine's order of bytes.

    Integers of up to 8 bits are uint8, others uint16, and white stays the greatest value.
    ValueError or OSError: a strip ends early, or cannot be unpacked.
    """
    wanted = about.wanted
    shape = about.height, about.width, len(wanted)
    out = np.empty(shape, about.dtype.newbyteorder("="))
    rows, columns = about.part
    planar, count = about.kind.planar, about.kind.samples
    parts = iter(zip(about.offsets, about.counts, strict=False))
    limits.check_size("a strip or tile", columns * max(1, count // 4), rows)
    for plane in range(count if planar else 1):
        for top in range(0, about.height, rows):
            for left in range(0, about.width, columns):
                place = next(parts)
                if planar and plane not in wanted:
                    continue
                # Tiles are whole ones, also at the edges; of strips the last one may be shorter.
                high = rows if about.tiled else min(rows, about.height - top)
                piece = _part(file, about, *place, high, 1 if planar else count)
                taken = piece if planar else piece[..., list(wanted)]
                first = wanted.index(plane) if planar else 0
                goal = out[top : top + rows, left : left + columns, first:]
                goal = goal[..., :1] if planar else goal
                goal[...] = taken[: goal.shape[0], : goal.shape[1]]
    return _full(out, about)


def _full(out: Array, about: Layout) -> Array:
    """Return integers so that white is the greatest value of their type."""
    most = (1 << about.bits) - 1
    if out.dtype.kind == "f" or most in (0xFF, 0xFFFF):
        return out
    white = int(np.iinfo(out.dtype).max)
    values = (np.arange(most + 1) * white + most // 2) // most
    return values.astype(out.dtype)[out]


def _part(file: BinaryIO, about: Layout, offset: int, count: int, rows: int, samples: int) -> Array:
    """Return a strip or a tile, (rows, columns, samples)."""
    columns = about.part[1]
    across = -(-columns * samples * about.bits // 8)
    file.seek(offset)
    data = file.read(min(count, 2 * rows * across + (1 << 16)))
    if about.compression == "raw":
        if len(data) < rows * across:
            raise ValueError("a strip or tile ends early")
        flat = np.frombuffer(data, np.uint8, rows * across).reshape(rows, across)
        flat = _REVERSED[flat, 0] if about.kind.reversed else flat
    else:
        flat = unpacked(data, about.compression, rows, across, about.kind.reversed)
    if about.predictor == 3:
        return _summed_floats(flat, about.dtype, samples).reshape(rows, columns, samples)
    if about.bits != 8 * about.dtype.itemsize:
        return _from_bits(flat, about, columns * samples).reshape(rows, columns, samples)
    piece = np.ascontiguousarray(flat).view(about.dtype).reshape(rows, columns, samples)
    if about.predictor == 2:
        unsigned = piece.view(f"{piece.dtype.byteorder}u{piece.dtype.itemsize}")
        whole = unsigned.dtype.newbyteorder("=")
        piece = np.cumsum(unsigned, axis=1, dtype=whole).view(piece.dtype.newbyteorder("="))
    return piece


def _from_bits(flat: Bytes, about: Layout, count: int) -> Array:
    """Return samples of other bits than 8 or 16, (rows, count); each row begins at a byte."""
    out = np.empty((len(flat), count), about.dtype.newbyteorder("="))
    worth = (1 << np.arange(about.bits)[::-1]).astype(np.uint16)
    for top in range(0, len(flat), _BLOCK):
        bits = np.unpackbits(flat[top : top + _BLOCK], axis=1, count=count * about.bits)
        out[top : top + _BLOCK] = bits.reshape(len(bits), count, about.bits) @ worth
    return out


def _summed_floats(flat: Bytes, dtype: np.dtype[Any], samples: int) -> Array:
    """Return floats of which the bytes are stored as differences, the highest ones first."""
    rows, across = flat.shape
    sums = np.cumsum(flat.reshape(rows, -1, samples), axis=1, dtype=np.uint8)
    planes = sums.reshape(rows, dtype.itemsize, across // dtype.itemsize)
    highest_first = np.ascontiguousarray(planes.swapaxes(1, 2))
    return highest_first.view(dtype.newbyteorder(">"))


def unpacked(
    data: bytes, compression: str, rows: int, across: int, is_reversed: bool = False
) -> Bytes:
    """Return the bytes of a strip or tile, (rows, across)."""
    entries = (
        (WIDTH, across), (HEIGHT, rows), (BITS, 8), (COMPRESSION, NUMBERS[compression]),
        (PHOTOMETRIC, GREY), (FILL_ORDER, 1 + is_reversed), (OFFSETS, 8), (SAMPLES, 1),
        (ROWS, rows), (COUNTS, len(data)),
    )  # fmt: skip
    ifd = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    file = struct.pack("<2sHI", b"II", 42, 8 + len(data)) + data
    file += struct.pack("<H", len(entries)) + ifd + bytes(4)
    with Image.open(BytesIO(file), formats=("TIFF",)) as image:
        return np.asarray(image)
