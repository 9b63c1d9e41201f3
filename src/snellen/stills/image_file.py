"""Image files, opened by Pillow as far as their header; refused there where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from snellen import process
from snellen.errors import InputError
from snellen.files import signatures
from snellen.files.opening import opened
from snellen.files.signatures import HEAD, Kind, Sort, kind_of
from snellen.files.still_formats import FORMATS as WRITABLE
from snellen.files.still_formats import JPEG_XL, READ_ONLY
from snellen.frames import limits, pillow_pixels, tiff_kinds
from snellen.stills import damage, tiff

FORMATS = (*dict.fromkeys(one.name for one in WRITABLE.values()), "GIF")
"""Formats that are read, as Pillow names them. For others (EPS) it would run programs."""

_RAW = 8
"""Most pixels in a byte of uncompressed samples, of 1 bit each."""
PACKED = 1 << 14
"""Most pixels that deflate (1 : 1032, 8 pixels a byte), LZW, PackBits or JPEG make of a byte."""
_PACKERS = ("zip", "jpeg", "bmp_rle", "packbits", "tiff_lzw", "tiff_deflate", "tiff_adobe_deflate")
"""Pillow's names of decoders, and of TIFF's compressions, to which `PACKED` applies."""
_PIPE_BYTES = 8
"""Bytes a pixel that are read of a pipe at most."""
SLACK = 1 << 16
"""Pixels that are not worth a check, and bytes of metadata that do not count as pixels."""
_JPEG = b"\xff\xd8"
_PIXELS = (0xDA, 0xD9)
"""Markers of JPEG behind which no header follows: SOS, EOI."""
WHOLE = 1 << 29
"""Most bytes of a file that is read into memory as a whole, before its header is."""
_FILLING, _SEGMENTS = 1 << 16, 1 << 16
"""Most bytes between two segments of a JPEG's header, which Pillow reads one by one; segments."""


class _UnidentifiedError(Exception):
    """A file of which Pillow does not know what it is."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.reason = f"none of {', '.join(FORMATS)}"
        if kind.sort is Sort.IMAGE:
            self.reason = f"it begins as {kind.name} does, and is damaged"
        elif kind.name:
            self.reason = f"it is {kind.name}"


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
def opened_file(path: Path) -> Iterator[tuple[BinaryIO, list[str]]]:
    """Open an image file, to read anywhere in it; raise errors of the block as InputError.

    The list that it yields, too, receives what libtiff finds wrong.
    """
    said: list[str] = []
    try:
        with (
            damage.libtiff_errors() as said,
            opened(path, _PIPE_BYTES * limits.greatest() + SLACK) as file,
            without_size_limit(),
        ):
            yield file, said
    except (InputError, MemoryError):
        raise
    except Exception as error:  # Pillow raises exceptions of nearly every class for damaged files.
        text = error.args[0] if error.args else ""  # bytes of LibRaw
        why = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(error)
        reason = "; ".join(damage.listed(said)) or why
        reader = READ_ONLY.get(path.suffix.lower())
        advice = None
        if isinstance(error, _UnidentifiedError):
            reason, advice = error.reason, error.kind.advice
        if reader is not None and not reader.is_there():
            reason, advice = f"{reason}; {reader.said()}", reader.advice
        said_so = f"{path}: not an image that can be read ({reason})"
        raise InputError(said_so, advice=advice) from error


@contextmanager
def pillow_image(path: Path, file: BinaryIO) -> Iterator[Image.Image]:
    """Open a file by Pillow; the size has been checked, the pixels are not loaded."""
    file.seek(0)
    head = file.read(12)
    if head.startswith(_JPEG):
        _check_segments(path, file)
    elif _is_read_whole(head):
        check_whole(path, file)
    elif head.startswith(tiff.MAGIC) and (tags := tiff.directory(file)) is not None:
        tiff_kinds.check(path, tags)
    formats = _jpeg_xl(path) if kind_of(head) is signatures.JPEG_XL else FORMATS
    file.seek(0)
    try:
        opened_one = Image.open(file, formats=formats)
    except UnidentifiedImageError as error:
        file.seek(0)
        raise _UnidentifiedError(kind_of(file.read(HEAD))) from error
    with opened_one as image:
        check_header(path, image, file)
        yield image


def _jpeg_xl(path: Path) -> tuple[str, ...]:
    """Return Pillow's names of JPEG XL, which a plug-in reads (InputError: none is installed)."""
    for module in JPEG_XL.modules:
        with suppress(ImportError):
            import_module(module)
            if found := tuple(one for one in Image.OPEN if one.upper() == "JXL"):
                return found
    raise JPEG_XL.missing(path)


def _is_read_whole(head: bytes) -> bool:
    """Tell whether a file with these first bytes is AVIF, WebP or JPEG XL."""
    webp = head.startswith(b"RIFF") and head[8:12] == b"WEBP"
    return webp or head[4:8] == b"ftyp" or kind_of(head) is signatures.JPEG_XL


def _check_segments(path: Path, file: BinaryIO) -> None:
    """Refuse (InputError) a JPEG whose header would take for ever to read."""
    at = len(_JPEG)
    for _ in range(_SEGMENTS):
        file.seek(at)
        read = file.read(_FILLING)
        rest = read.lstrip(b"\0\xff")
        if not rest and len(read) == _FILLING:
            raise InputError(f"{path}: {_FILLING:,} bytes without a marker in the header of a JPEG")
        if len(rest) < 3 or rest[0] in _PIXELS:
            return
        at += len(read) - len(rest) + 1 + int.from_bytes(rest[1:3], "big")
    raise InputError(f"{path}: more than {_SEGMENTS:,} segments in the header of a JPEG")


def check_header(path: Path, image: Image.Image, file: BinaryIO) -> None:
    """Refuse (InputError) a picture that is too large, or larger than its file can hold."""
    limits.check_size(path, *image.size)
    tiles = getattr(image, "tile", None)
    if not tiles:
        return
    decoder = tiles[0][0]
    if decoder == "libtiff":
        decoder = image.info.get("compression")
    most = _RAW if decoder in ("raw", "ppm") else PACKED if decoder in _PACKERS else None
    if most is not None and image.format not in ("AVIF", "WEBP"):  # whose tiles are raw ones
        limits.check_plausible(path, *image.size, size_of(file), most, SLACK)


def size_of(file: BinaryIO) -> int:
    """Return the bytes of a file, whose position stays."""
    position, size = file.tell(), file.seek(0, 2)
    file.seek(position)
    return size


def check_whole(path: Path, file: BinaryIO) -> None:
    """Refuse (InputError) a file that is too large to be read into memory as a whole."""
    if size_of(file) > WHOLE:
        raise InputError(f"{path} has more than {WHOLE:,} bytes")


def check_kind(path: Path, image: Image.Image) -> None:
    """Refuse (InputError) samples and colours that `pillow_pixels` cannot use."""
    if reason := pillow_pixels.refused(image):
        raise InputError(f"{path}: {reason}", advice="convert the image first")


def has_several(image: Image.Image) -> bool:
    """Return whether a file holds more pictures than the one that is read.

    MPO is a telephone's JPEG with previews and masks, which do not count. Those of a TIFF:
    `tiff_pages.beside`.
    """
    if image.format in ("MPO", "TIFF"):
        return False
    if image.format == "GIF":
        return bool(getattr(image, "is_animated", False))  # n_frames would read all of it
    return int(getattr(image, "n_frames", 1)) > 1
