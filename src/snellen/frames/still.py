"""Image files ⇄ arrays, without losing depth, colour profile or orientation.

Pillow reads and writes, but it knows no 16-bit colour: those pixels go through FFmpeg (PyAV).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image

from snellen.errors import InputError, OutputError
from snellen.frames import atomic

Array = npt.NDArray[Any]

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".ppm", ".pgm", ".pnm")
"""What is taken for an image rather than a video."""

JPEG = {"quality": 95, "subsampling": 0}
WEBP = {"lossless": True, "exact": True}  # exact: also the colours of transparent pixels

# TIFF 6.0 tags of how pixels are stored: in a TIFF file they stand among the EXIF tags, but those
# of the input are wrong for the output. 34675: the profile, which is kept by itself.
_STORAGE = frozenset(
    {*range(254, 260), *range(262, 267), 273, *range(277, 282), 284, 292, 293, 317, 320}
    | {*range(322, 326), 330, *range(338, 343), 347, 512, 513, 514, 529, 530, 532, 34675}
)

_BITS = 258  # TIFF 6.0: BitsPerSample
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "I", "F")  # and I;16 of either order
_LYING = (5, 6, 7, 8)  # orientations by which rows become columns

# Pillow warns of and refuses large pictures as an attack on servers; here the user chose the file.
Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True, slots=True)
class Still:
    """An image file's pixels and what must stay with them."""

    pixels: Array
    """(H, W), (H, W, 3) RGB or (H, W, 4) RGBA; uint8, uint16 or float32; the right way up."""
    grey_alpha: bool = False
    """Whether RGBA pixels are grey with alpha in the file."""
    profile: bytes | None = None
    """ICC colour profile."""
    exif: bytes | None = None
    """EXIF block, orientation taken out."""
    dpi: Any = field(default=None)
    """Dots per inch, across and down."""


@dataclass(frozen=True, slots=True)
class Header:
    """What an image file says before its pixels."""

    width: int
    """Turned as its EXIF says. A PNG may say it only behind its pixels: then it is not."""
    height: int
    floats: bool
    """Whether samples are floats."""


def read(path: Path) -> Still:
    """Read an image file.

    Raises
    ------
    InputError
        Missing, damaged, no image, more than one picture, or colours that are not grey or RGB.
    """
    with _opened(path) as image:
        return _read(path, image)


def header(path: Path) -> Header:
    """Read what an image file says before its pixels, which stay unread.

    Raises
    ------
    InputError
        As `read`, as far as the header tells.
    """
    with _opened(path) as image:
        _check_kind(path, image)
        # Pillow turns a TIFF's size itself; of PNG its own getexif would load the picture.
        turn = Image.Image.getexif(image).get(ExifTags.Base.Orientation, 1)
        width, height = image.size
        if turn in _LYING and image.format != "TIFF":
            width, height = height, width
        return Header(width, height, image.mode == "F")


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open an image file; InputError for all that goes wrong with it."""
    try:
        with Image.open(path) as image:
            yield image
    except (InputError, MemoryError):
        raise
    except Exception as error:  # of damaged files, Pillow's formats let nearly every kind out
        missing = isinstance(error, FileNotFoundError)
        what = "no such file" if missing else f"not an image that can be read ({error})"
        raise InputError(f"{path}: {what}") from error


def write(path: Path, still: Still, overwrite: bool = False) -> None:
    """Write an image file in the format of its suffix; it appears only when it is whole.

    Raises
    ------
    InputError
        The format is unknown or cannot hold the pixels.
    OutputError
        The disk is full or not writable.
    """
    check(path, still)
    try:
        with atomic.replacing(path, overwrite) as temporary:
            if still.pixels.dtype == np.uint16 and still.pixels.ndim == 3:
                temporary.write_bytes(_encode16(path, still))
            else:
                _save(temporary, still)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{path} could not be written: {error.strerror or error}") from error


def _read(path: Path, image: Image.Image) -> Still:
    _check_kind(path, image)
    deep = _is_deep(image)  # before getexif, which may load the picture
    if not deep:
        image.load()  # Pillow turns TIFF itself, and takes the orientation out
    exif = image.getexif()
    turn = exif.pop(ExifTags.Base.Orientation, 1)
    for tag in _STORAGE & set(exif):
        del exif[tag]
    alpha = image.mode == "RGBA" or "transparency" in image.info
    pixels = _decode16(path, "rgba64le" if alpha else "rgb48le") if deep else _pixels(path, image)
    return Still(
        pixels=_oriented(pixels, turn),
        grey_alpha=image.mode == "LA" or (image.mode in ("L", "1") and alpha),
        profile=image.info.get("icc_profile"),
        exif=exif.tobytes() if len(exif) else None,
        dpi=image.info.get("dpi"),
    )


def _check_kind(path: Path, image: Image.Image) -> None:
    """Refuse several pictures, more than 16 bits, and colours that are not grey or RGB."""
    pictures = getattr(image, "n_frames", 1)
    if pictures > 1 and image.format != "MPO":  # a telephone's JPEG: the first is the picture
        raise InputError(f"{path} holds {pictures} pictures; expected a single one")
    mode = image.mode
    if mode not in _MODES and (mode == "I;16N" or not mode.startswith("I;16")):
        raise InputError(f"{path} has {mode} colours; convert it to grey or RGB first")
    # Whatever the values are: of 32 bits nobody knows which is white.
    if mode == "I" and max(getattr(image, "tag_v2", {}).get(_BITS, (16,))) > 16:
        raise InputError(f"{path} has 32-bit samples; expected 8 or 16 bit, or float32")


def _is_deep(image: Image.Image) -> bool:
    """Return whether colours have 16 bits, of which Pillow would keep 8."""
    tiles = getattr(image, "tile", None)
    if image.mode not in ("RGB", "RGBA") or not tiles:
        return False
    raw = tiles[0][3]
    return (image.format == "PPM" and isinstance(raw, tuple) and raw[1] > 255) or ";16" in str(raw)


def _pixels(path: Path, image: Image.Image) -> Array:
    mode = image.mode
    if mode in ("1", "L", "RGB") and "transparency" in image.info:
        return np.asarray(image.convert("RGBA"))
    if mode in ("L", "RGB", "RGBA") or mode.startswith("I;16"):
        pixels = np.asarray(image)
        return _deep_grey(pixels, image) if mode.startswith("I") else pixels
    if mode == "F":
        return np.asarray(image, np.float32)
    if mode == "I":
        pixels = np.asarray(image)
        if pixels.min() < 0:
            raise InputError(f"{path} has negative samples; expected 8 or 16 bit, or float32")
        return pixels.astype(np.uint16)
    if mode == "1":
        return np.asarray(image.convert("L"))
    alpha = mode != "P" or "transparency" in image.info  # or LA, PA
    return np.asarray(image.convert("RGBA" if alpha else "RGB"))


def _deep_grey(pixels: Array, image: Image.Image) -> Array:
    """Return 16-bit grey, as RGBA where one grey is called transparent (PNG's tRNS)."""
    grey = pixels.astype(np.uint16)
    clear = image.info.get("transparency")
    if clear is None:
        return grey
    alpha = np.where(grey == clear, 0, 0xFFFF).astype(np.uint16)
    return np.stack([grey, grey, grey, alpha], axis=-1)


def _decode16(path: Path, format: str) -> Array:
    with av.open(str(path)) as container:
        return next(container.decode(video=0)).to_ndarray(format=format)


def _oriented(pixels: Array, turn: int) -> Array:
    """Apply an EXIF orientation, 1 … 8 (TIFF 6.0, tag 274)."""
    if turn in _LYING:
        pixels = pixels.swapaxes(0, 1)
    if turn in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if turn in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def check(path: Path, still: Still) -> None:
    """Refuse a file name whose format cannot hold the pixels (InputError)."""
    suffix, pixels = path.suffix.lower(), still.pixels
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: no image format {suffix!r}; use one of {', '.join(SUFFIXES)}")
    if pixels.dtype == np.float32 and (pixels.ndim == 3 or suffix not in (".tif", ".tiff")):
        raise InputError(f"{path}: float samples need .tif, and must be grey")
    if suffix == ".pgm" and pixels.ndim == 3:
        raise InputError(f"{path}: .pgm holds grey only; use .ppm")
    if pixels.dtype == np.uint16 and suffix not in (".png", ".tif", ".tiff"):
        raise InputError(f"{path}: 16-bit samples need .png or .tif")
    if pixels.dtype == np.uint16 and pixels.ndim == 3 and still.profile and suffix != ".png":
        raise InputError(f"{path}: 16-bit colour with a colour profile needs .png")
    holds_alpha = suffix in (".png", ".tif", ".tiff", ".webp")
    if pixels.ndim == 3 and pixels.shape[2] == 4 and not holds_alpha:
        raise InputError(f"{path}: transparency needs .png, .tif or .webp")
    if suffix == ".webp" and max(pixels.shape[:2]) > 16383:
        raise InputError(f"{path}: .webp holds at most 16383 pixels a side; use .png")
    if suffix in (".jpg", ".jpeg") and max(pixels.shape[:2]) > 65535:
        raise InputError(f"{path}: .jpg holds at most 65535 pixels a side; use .png")


def losses(path: Path, still: Still) -> list[str]:
    """Return a sentence for all that belongs to the image and the format cannot hold."""
    suffix, pixels = path.suffix.lower(), still.pixels
    bare = suffix in (".bmp", ".ppm", ".pgm", ".pnm")
    deep_tiff = suffix in (".tif", ".tiff") and pixels.dtype == np.uint16 and pixels.ndim == 3
    said = []
    if still.profile and bare:
        said.append(f"{suffix} holds no colour profile: it is lost")
    if still.exif and (bare or deep_tiff):
        which = f"16-bit colour in {suffix}" if deep_tiff else suffix
        said.append(f"{which} is written without EXIF: it is lost")
    return said


def _save(path: Path, still: Still) -> None:
    image = Image.fromarray(still.pixels)
    if still.grey_alpha:
        image = image.convert("LA")
    suffix = path.suffix.lower()
    options: dict[str, Any] = {}
    if suffix in (".jpg", ".jpeg"):
        options = dict(JPEG)
    elif suffix == ".webp":
        options = dict(WEBP)
    kept = {"icc_profile": still.profile, "exif": still.exif, "dpi": still.dpi}
    image.save(path, **options, **{key: value for key, value in kept.items() if value})


def _encode16(path: Path, still: Still) -> bytes:
    """Return 16-bit colour as a PNG or TIFF file."""
    tiff = path.suffix.lower() != ".png"
    alpha = still.pixels.shape[2] == 4
    frame = av.VideoFrame.from_ndarray(
        np.ascontiguousarray(still.pixels), "rgba64le" if alpha else "rgb48le"
    )
    order = "le" if tiff else "be"
    encoder = av.CodecContext.create("tiff" if tiff else "png", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height = frame.width, frame.height
    encoder.pix_fmt = ("rgba64" if alpha else "rgb48") + order
    encoder.time_base = 1  # type: ignore[assignment, unused-ignore]  # PyAV 18
    packets = [*encoder.encode(frame.reformat(format=encoder.pix_fmt)), *encoder.encode(None)]
    data = b"".join(bytes(packet) for packet in packets)
    return data if tiff else _with_chunks(data, still)


def _with_chunks(png: bytes, still: Still) -> bytes:
    """Insert profile, EXIF and resolution behind IHDR (PNG specification, 11.3.2.3, 11.3.3.5)."""
    chunks = b""
    if still.profile:
        chunks += _chunk(b"iCCP", b"profile\0\0" + zlib.compress(still.profile))
    if still.exif:
        chunks += _chunk(b"eXIf", still.exif.removeprefix(b"Exif\0\0"))
    end = 8 + 25  # signature, IHDR
    if still.dpi:
        across, down = (round(float(value) / 0.0254) for value in still.dpi)
        chunks += _chunk(b"pHYs", struct.pack(">IIB", across, down, 1))
        if png[end + 4 : end + 8] == b"pHYs":  # FFmpeg's, which holds the pixels' shape
            png = png[:end] + png[end + 12 + 9 :]
    return png[:end] + chunks + png[end:]


def _chunk(name: bytes, body: bytes) -> bytes:
    crc = zlib.crc32(name + body)
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)
