"""Image files, opened by Pillow as far as their header; refused there where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from PIL import Image, UnidentifiedImageError

from snellen import process
from snellen.errors import InputError
from snellen.frames import damage, limits
from snellen.frames.opening import opened

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "PPM")
"""Formats that are read, as Pillow names them. For others (EPS) it would run programs."""

_BITS = 258  # TIFF 6.0: BitsPerSample
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "I", "F")  # and I;16 of either order

_RAW = 8
"""Most pixels in a byte of uncompressed samples, of 1 bit each."""
_PACKED = 1 << 14
"""Most pixels that deflate (1 : 1032, 8 pixels a byte), LZW, PackBits or JPEG make of a byte."""
_PACKERS = ("zip", "jpeg", "bmp_rle", "packbits", "tiff_lzw", "tiff_deflate", "tiff_adobe_deflate")
"""Pillow's names of decoders, and of TIFF's compressions, to which `_PACKED` applies."""
_PIPE_BYTES = 8
"""Bytes a pixel that are read of a pipe at most."""
_SLACK = 1 << 16
"""Pixels that are not worth a check, and bytes of metadata that do not count as pixels."""


class OpenImage(NamedTuple):
    """An image file that has been opened."""

    image: Image.Image
    file: BinaryIO
    """The file, whose position belongs to `image` until the pixels are loaded."""
    said: list[str]
    """What libtiff finds wrong while it decodes."""


_limit_lock = process.lock()
_limit_users = 0  # blocks of `without_size_limit` that are running
_host_limit: int | None = None  # the host program's value, to be restored after the last of them


@contextmanager
def without_size_limit() -> Iterator[None]:
    """Switch off Pillow's guard against decompression bombs while the block runs.

    `frames.limits` has ours, which knows the memory of the machine. Pillow's is a global and
    belongs to the host program, so the first of several concurrent blocks removes it and the last
    one restores it. Pillow may check it when it opens a file, moves to another picture of it or
    loads pixels (TIFF).
    """
    global _limit_users, _host_limit
    with _limit_lock:
        if not _limit_users:
            _host_limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        _limit_users += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limit_users -= 1
            if not _limit_users and Image.MAX_IMAGE_PIXELS is None:  # else: the host's new value
                Image.MAX_IMAGE_PIXELS = _host_limit


@contextmanager
def opened_image(path: Path) -> Iterator[OpenImage]:
    """Open an image file of any colours; raise its errors, and those of the block, as InputError.

    The size has been checked; the pixels are not loaded.
    """
    said: list[str] = []
    try:
        with (
            damage.libtiff_errors() as said,
            opened(path, _PIPE_BYTES * limits.greatest() + _SLACK) as file,
            without_size_limit(),
            Image.open(file, formats=FORMATS) as image,
        ):
            limits.check_size(path, *image.size)
            _check_plausible(path, image, _size(file))
            yield OpenImage(image, file, said)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # Pillow raises exceptions of nearly every class for damaged files.
        reason = "; ".join(damage.listed(said)) or str(error)
        if isinstance(error, UnidentifiedImageError):
            reason = f"none of {', '.join(FORMATS)}"
        raise InputError(f"{path}: not an image that can be read ({reason})") from error


def _size(file: BinaryIO) -> int:
    """Return the bytes of a file, whose position stays."""
    position, size = file.tell(), file.seek(0, 2)
    file.seek(position)
    return size


def _check_plausible(path: Path, image: Image.Image, size: int) -> None:
    """Refuse a header that claims more pixels than a file of `size` bytes can hold."""
    tiles = getattr(image, "tile", None)
    if not tiles:
        return
    decoder = tiles[0][0]
    if decoder == "libtiff":
        decoder = image.info.get("compression")
    most = _RAW if decoder in ("raw", "ppm") else _PACKED if decoder in _PACKERS else None
    if most is not None:
        limits.check_plausible(path, *image.size, size, most, _SLACK)


def check_kind(path: Path, image: Image.Image) -> None:
    """Refuse files of several pictures, with 32-bit integers, or neither grey nor RGB."""
    if _several(image):
        raise InputError(f"{path}: got several pictures; expected a single one")
    mode = image.mode
    if mode not in _MODES and (mode == "I;16N" or not mode.startswith("I;16")):
        raise InputError(
            f"{path}: got colours of kind {mode}; expected grey or RGB",
            advice="convert the image first",
        )
    # Even if all values are below 65536: the value of white is unknown.
    if mode == "I" and max(getattr(image, "tag_v2", {}).get(_BITS, (16,))) > 16:
        raise InputError(f"{path}: got 32-bit samples; expected 8 or 16 bit, or float32")


def _several(image: Image.Image) -> bool:
    """Return whether there are more pictures; MPO is a telephone's JPEG, its first the picture."""
    if image.format == "MPO":
        return False
    if image.format != "TIFF":
        return int(getattr(image, "n_frames", 1)) > 1
    try:
        image.seek(1)  # counting a million of them takes minutes
    except EOFError:
        return False
    image.seek(0)
    return True
