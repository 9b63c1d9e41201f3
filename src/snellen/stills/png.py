"""PNG files with 16-bit colour, written strip by strip: Pillow does not support them.

PNG specification, third edition: 5.3 chunks, 9.2 filters, 10.1 compression.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR = {3: 2, 4: 6}
"""Colour type by samples of a pixel."""
_SUB, _UP = 1, 2
"""Filters: differences to the pixel on the left, and to that above."""
_STRIP = 1 << 20
"""Bytes of a strip."""
_DATA = 1 << 16
"""Bytes from which compressed data become a chunk."""


def write(file: IO[bytes], pixels: npt.NDArray[Any], chunks: Iterable[tuple[bytes, bytes]]) -> None:
    """Write a PNG file of pixels (H, W, 3) or (H, W, 4) uint16.

    `chunks` are names and contents of what stands between header and pixels.
    """
    height, width, samples = pixels.shape
    file.write(SIGNATURE)
    _chunk(file, b"IHDR", struct.pack(">IIBBBBB", width, height, 16, _COLOUR[samples], 0, 0, 0))
    for name, body in chunks:
        _chunk(file, name, body)
    stream, waiting = zlib.compressobj(), b""
    above = np.zeros((1, 2 * width * samples), np.uint8)
    rows = max(1, _STRIP // above.size)
    for top in range(0, height, rows):
        strip = np.ascontiguousarray(pixels[top : top + rows], ">u2")
        plain = strip.reshape(len(strip), -1).view(np.uint8)
        waiting += stream.compress(_filtered(plain, above, 2 * samples).tobytes())
        above = plain[-1:]
        if len(waiting) >= _DATA:
            _chunk(file, b"IDAT", waiting)
            waiting = b""
    _chunk(file, b"IDAT", waiting + stream.flush())
    _chunk(file, b"IEND", b"")


def _filtered(rows: Bytes, above: Bytes, pixel: int) -> Bytes:
    """Return rows with the number of a filter each, that of two with smaller differences."""
    sub, up = rows.copy(), rows.copy()
    sub[:, pixel:] -= rows[:, :-pixel]
    up[:1] -= above
    up[1:] -= rows[:-1]
    sums = [np.abs(one.view(np.int8).astype(np.int16)).sum(1, np.int64) for one in (sub, up)]
    is_up = (sums[1] < sums[0])[:, None]
    return np.concatenate(
        [np.where(is_up, _UP, _SUB).astype(np.uint8), np.where(is_up, up, sub)], axis=1
    )


def _chunk(file: IO[bytes], name: bytes, body: bytes) -> None:
    """Write length, name, contents and checksum."""
    file.write(struct.pack(">I", len(body)) + name)
    file.write(body)
    file.write(struct.pack(">I", zlib.crc32(body, zlib.crc32(name))))
