"""Image files ⇄ arrays: bit depth, colour profile, EXIF and resolution are preserved.

Pillow reads and writes the files. It does not support 16-bit colour: FFmpeg (PyAV) decodes and
encodes those pixels.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image

from snellen.errors import InputError
from snellen.frames import atomic, damage, deep
from snellen.frames.image_file import OpenImage, check_kind, opened_image

Array = npt.NDArray[Any]

_FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF",
    ".webp": "WEBP", ".bmp": "BMP", ".ppm": "PPM", ".pgm": "PPM", ".pnm": "PPM",
}  # fmt: skip
"""Pillow's names of the formats that are written. To look them up there loads all its plugins."""
SUFFIXES = tuple(_FORMATS)
"""File name suffixes, lower case, of images. Files with any other suffix are taken for videos."""

JPEG = {"quality": 95, "subsampling": 0}
WEBP = {"lossless": True, "exact": True}  # exact: preserve the colours of transparent pixels, too

# TIFF 6.0 tags that describe how pixels are stored. A TIFF file lists them among its EXIF tags, but
# the values of the input are wrong for the output. 34675 is the ICC profile, a field of its own.
_STORAGE = frozenset(
    {*range(254, 260), *range(262, 267), 273, *range(277, 282), 284, 292, 293, 317, 320}
    | {*range(322, 326), 330, *range(338, 343), 347, 512, 513, 514, 529, 530, 532, 34675}
)

_TRANSPOSING = (5, 6, 7, 8)  # EXIF orientations that exchange rows and columns


@dataclass(frozen=True, slots=True)
class Still:
    """The pixels of an image file and the metadata that must stay with them."""

    pixels: Array
    """Samples, the right way up: (H, W) grey, (H, W, 3) RGB or (H, W, 4) RGBA; uint8, uint16 or
    float32."""
    grey_alpha: bool = False
    """Whether the file stores the RGBA `pixels` as grey with alpha."""
    profile: bytes | None = None
    """ICC colour profile."""
    exif: bytes | None = None
    """EXIF block without its orientation, which `pixels` already has."""
    dpi: Any = field(default=None)
    """Resolution (across, down) in dots per inch."""
    damage: tuple[str, ...] = ()
    """What is wrong with the file although its pixels could be decoded; empty: nothing known."""


@dataclass(frozen=True, slots=True)
class Header:
    """The part of an image file that stands before its pixels."""

    width: int
    """Width in pixels after the EXIF orientation. A PNG may store its orientation behind the
    pixels, where it is not read: then this is the width before."""
    height: int
    """Height in pixels; see `width`."""
    floats: bool
    """Whether samples are floats."""


def read(path: Path) -> Still:
    """Read an image file.

    Raises
    ------
    InputError
        The file is missing, damaged or no image, holds more than one picture, or has colours other
        than grey and RGB.
    """
    with opened_image(path) as opened:
        check_kind(path, opened.image)
        return _read(path, opened)


def header(path: Path) -> Header:
    """Read the size and the kind of samples of an image file, but not its pixels.

    Raises
    ------
    InputError
        As `read`, for those faults that the header shows.
    """
    with opened_image(path) as (image, _, _):
        check_kind(path, image)
        # Pillow applies the orientation to the size of a TIFF itself. The base class's getexif does
        # not load the pixels; that of PNG would.
        orientation = Image.Image.getexif(image).get(ExifTags.Base.Orientation, 1)
        width, height = image.size
        if orientation in _TRANSPOSING and image.format != "TIFF":
            width, height = height, width
        return Header(width, height, image.mode == "F")


def write(path: Path, still: Still, overwrite: bool = False) -> None:
    """Write an image file in the format of its suffix; it appears only when it is complete.

    Parameters
    ----------
    path : Path
        The file; its suffix is one of `SUFFIXES`.
    still : Still
        Pixels and metadata.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        The format is unknown or cannot hold the pixels.
    OutputError
        The disk is full or not writable, or the file exists and `overwrite` is False.
    """
    check(path, still)
    with atomic.writing(path, overwrite) as file:
        if still.pixels.dtype == np.uint16 and still.pixels.ndim == 3:
            file.write(_encode16(path, still))
        else:
            _save(file, path.suffix.lower(), still)


def _read(path: Path, opened: OpenImage) -> Still:
    image, file, said = opened
    is_deep = _has_16_bit_colour(image)
    # For TIFF, Pillow applies the orientation here and removes it from the EXIF. Pixels of 16-bit
    # colour are not taken from Pillow, but it refuses files that end early.
    image.load()
    exif = image.getexif()
    orientation = exif.pop(ExifTags.Base.Orientation, 1)
    for tag in _STORAGE & set(exif):
        del exif[tag]
    block, lost = _exif_block(exif)
    alpha = image.mode == "RGBA" or "transparency" in image.info
    if is_deep:
        file.seek(0)
        pixels = deep.decode(file.read(), str(image.format), alpha)
    else:
        pixels = _pixels(path, image)
    return Still(
        pixels=_oriented(pixels, orientation),
        grey_alpha=image.mode == "LA" or (image.mode in ("L", "1") and alpha),
        profile=image.info.get("icc_profile"),
        exif=block,
        dpi=image.info.get("dpi"),
        damage=damage.found(file, image, said) + lost,
    )


def _exif_block(exif: Image.Exif) -> tuple[bytes | None, tuple[str, ...]]:
    """Return an EXIF block that can be written, or None; and what of it was lost by damage."""
    if not len(exif):
        return None, ()
    exif.bigtiff = False  # a BigTIFF's would have offsets of 64 bits, which no EXIF block has
    try:
        block = exif.tobytes()
        Image.Exif().load(block)
    except Exception as error:  # Pillow raises exceptions of nearly every class for damaged tags.
        return None, (f"its EXIF cannot be read ({error})",)
    return block, ()


def _has_16_bit_colour(image: Image.Image) -> bool:
    """Return whether the file has 16-bit colour, which Pillow would reduce to 8 bits."""
    tiles = getattr(image, "tile", None)
    if image.mode not in ("RGB", "RGBA") or not tiles:
        return False
    raw = tiles[0][3]
    return (image.format == "PPM" and isinstance(raw, tuple) and raw[1] > 255) or ";16" in str(raw)


def _pixels(path: Path, image: Image.Image) -> Array:
    """Return the pixels as Pillow reads them, palettes and transparency resolved."""
    mode = image.mode
    if mode in ("1", "L", "RGB") and "transparency" in image.info:
        return np.asarray(image.convert("RGBA"))
    if mode in ("L", "RGB", "RGBA") or mode.startswith("I;16"):
        pixels = np.asarray(image)
        return _grey16(pixels, image) if mode.startswith("I") else pixels
    if mode == "F":
        return np.asarray(image, np.float32)
    if mode == "I":
        pixels = np.asarray(image)
        if pixels.min() < 0:
            raise InputError(f"{path}: got negative samples; expected 8 or 16 bit, or float32")
        return pixels.astype(np.uint16)
    if mode == "1":
        return np.asarray(image.convert("L"))
    alpha = mode != "P" or "transparency" in image.info  # the other modes here are LA and PA
    return np.asarray(image.convert("RGBA" if alpha else "RGB"))


def _grey16(pixels: Array, image: Image.Image) -> Array:
    """Return 16-bit grey; RGBA if the file declares one value transparent (PNG's tRNS chunk)."""
    grey = pixels.astype(np.uint16)
    transparent = image.info.get("transparency")
    if transparent is None:
        return grey
    alpha = np.where(grey == transparent, 0, 0xFFFF).astype(np.uint16)
    return np.stack([grey, grey, grey, alpha], axis=-1)


def _oriented(pixels: Array, orientation: int) -> Array:
    """Apply an EXIF orientation, 1 … 8 (TIFF 6.0, tag 274)."""
    if orientation in _TRANSPOSING:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def check(path: Path, still: Still) -> None:
    """Refuse a file name whose format cannot hold the pixels.

    Raises
    ------
    InputError
        `path` has a suffix of no image format that we write, or its format cannot store the kind of
        samples, the transparency, the colour profile or the size.
    """
    suffix, pixels = path.suffix.lower(), still.pixels
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path}: no image format {suffix!r}", advice=f"use one of {', '.join(SUFFIXES)}"
        )
    if pixels.dtype == np.float32 and (pixels.ndim == 3 or suffix not in (".tif", ".tiff")):
        raise InputError(f"{path}: float samples need .tif, and must be grey")
    if suffix == ".pgm" and pixels.ndim == 3:
        raise InputError(f"{path}: .pgm holds grey only", advice="use .ppm")
    if pixels.dtype == np.uint16 and suffix not in (".png", ".tif", ".tiff"):
        raise InputError(f"{path}: 16-bit samples need .png or .tif")
    if pixels.dtype == np.uint16 and pixels.ndim == 3 and still.profile and suffix != ".png":
        raise InputError(f"{path}: 16-bit colour with a colour profile needs .png")
    holds_alpha = suffix in (".png", ".tif", ".tiff", ".webp")
    if pixels.ndim == 3 and pixels.shape[2] == 4 and not holds_alpha:
        raise InputError(f"{path}: transparency needs .png, .tif or .webp")
    if suffix == ".webp" and max(pixels.shape[:2]) > 16383:
        raise InputError(f"{path}: .webp holds at most 16383 pixels a side", advice="use .png")
    if suffix in (".jpg", ".jpeg") and max(pixels.shape[:2]) > 65535:
        raise InputError(f"{path}: .jpg holds at most 65535 pixels a side", advice="use .png")


def losses(path: Path, still: Still) -> list[str]:
    """Return a sentence about each piece of metadata that the format of `path` cannot hold."""
    suffix, pixels = path.suffix.lower(), still.pixels
    no_metadata = suffix in (".bmp", ".ppm", ".pgm", ".pnm")
    tiff16 = suffix in (".tif", ".tiff") and pixels.dtype == np.uint16 and pixels.ndim == 3
    sentences = []
    if still.profile and no_metadata:
        sentences.append(f"{suffix} holds no colour profile: it is lost")
    if still.exif and (no_metadata or tiff16):
        which = f"16-bit colour in {suffix}" if tiff16 else suffix
        sentences.append(f"{which} is written without EXIF: it is lost")
    return sentences


def _save(file: IO[bytes], suffix: str, still: Still) -> None:
    """Write a file by Pillow: all but 16-bit colour."""
    image = Image.fromarray(still.pixels)
    if still.grey_alpha:
        image = image.convert("LA")
    options: dict[str, Any] = {}
    if suffix in (".jpg", ".jpeg"):
        options = dict(JPEG)
    elif suffix == ".webp":
        options = dict(WEBP)
    metadata = {"icc_profile": still.profile, "exif": still.exif, "dpi": still.dpi}
    image.save(
        file,
        _FORMATS[suffix],
        **options,
        **{key: value for key, value in metadata.items() if value},
    )


def _encode16(path: Path, still: Still) -> bytes:
    """Return the bytes of a PNG or TIFF file with 16-bit colour."""
    tiff = path.suffix.lower() != ".png"
    data = deep.encode(still.pixels, tiff)
    return data if tiff else _with_chunks(data, still)


def _with_chunks(png: bytes, still: Still) -> bytes:
    """Insert profile, EXIF and resolution after IHDR (PNG specification, 11.3.2.3, 11.3.3.5)."""
    chunks = b""
    if still.profile:
        chunks += _chunk(b"iCCP", b"profile\0\0" + zlib.compress(still.profile))
    if still.exif:
        chunks += _chunk(b"eXIf", still.exif.removeprefix(b"Exif\0\0"))
    end = 8 + 25  # signature, IHDR
    if still.dpi:
        across, down = (round(float(value) / 0.0254) for value in still.dpi)
        chunks += _chunk(b"pHYs", struct.pack(">IIB", across, down, 1))
        if png[end + 4 : end + 8] == b"pHYs":  # FFmpeg's: the aspect ratio
            png = png[:end] + png[end + 12 + 9 :]
    return png[:end] + chunks + png[end:]


def _chunk(name: bytes, body: bytes) -> bytes:
    """Return a PNG chunk: length, name, body, CRC."""
    crc = zlib.crc32(name + body)
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)
