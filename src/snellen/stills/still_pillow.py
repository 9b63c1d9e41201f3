"""Images that Pillow reads, as arrays; of 16-bit colour the pixels come from FFmpeg."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image

from snellen.errors import InputError
from snellen.frames import limits
from snellen.frames.pillow_pixels import Samples, samples
from snellen.frames.still_value import (
    SEVERAL,
    TRANSPOSING,
    Header,
    Still,
    oriented,
    origin_of,
    widened,
)
from snellen.stills import attached, boxes, damage
from snellen.stills.image_file import (
    check_header,
    check_kind,
    has_several,
    pillow_image,
)
from snellen.stills.still_metadata import gathered
from snellen.stills.tiff_pages import FirstPage, Page

_DEEP = {"PNG": "png", "PPM": "ppm", "JPEG2000": "jpeg2000"}
"""FFmpeg's decoders of 16-bit colour, which Pillow has not, by Pillow's names of formats."""
_END = b"\xff\xd9"
"""JPEG's marker EOI."""
_BEHIND_THE_FIRST = np.s_[20:], np.s_[:20, 20:]
"""Pixels that the first unit of a JPEG (16 × 16) does not reach: without data they are flat."""


class _Kind(NamedTuple):
    """A file's words on its pixels, which Pillow forgets when it loads them."""

    raw: Any
    """Pillow's name of the samples in the file."""
    bits: int
    """Bits of a sample in formats of which Pillow tells only whether they are many, else 8."""
    several: bool
    """There are more pictures."""
    turned: int
    """EXIF orientation of a TIFF, which Pillow applies where it loads the pixels; 0: of others."""


def read(path: Path, file: BinaryIO, said: list[str], page: Page | None = None) -> Still:
    """Return an image, or a page of a TIFF file; see `still.read`."""
    view: Any = file if page is None else FirstPage(file, page)
    with pillow_image(path, view) as image:
        check_kind(path, image)
        several = page is None and has_several(image)
        turned = getattr(image, "tag_v2", {}).get(ExifTags.Base.Orientation, 1)
        kind = _Kind(
            _raw(image), _bits(image, file), several, turned if image.format == "TIFF" else 0
        )
        return _read(path, _loaded(path, image, file), file, said, kind)


def header(path: Path, file: BinaryIO) -> Header:
    """Return the header of an image; see `still.header`."""
    with pillow_image(path, file) as image:
        check_kind(path, image)
        # Pillow applies the orientation to the size of a TIFF itself. The base class's getexif does
        # not load the pixels; that of PNG would.
        orientation = Image.Image.getexif(image).get(ExifTags.Base.Orientation, 1)
        width, height = image.size
        if orientation in TRANSPOSING and image.format != "TIFF":
            width, height = height, width
        return Header(width, height, image.mode == "F")


def _loaded(path: Path, image: Image.Image, file: BinaryIO) -> Image.Image:
    """Return an image with its pixels; those of a JPEG that ends early as far as they go."""
    # For TIFF, Pillow applies the orientation here and removes it from the EXIF. Pixels of 16-bit
    # colour are not taken from Pillow, but it refuses files that end early.
    try:
        image.load()
        return image
    except OSError:
        if image.format not in ("JPEG", "MPO"):
            raise
        file.seek(0)
        whole = Image.open(BytesIO(damage.jpeg_bytes(file, image) + _END), formats=("JPEG",))
        check_header(path, whole, file)
        whole.load()
        pixels = np.asarray(whole)
        if all((pixels[part] == pixels[-1, -1]).all() for part in _BEHIND_THE_FIRST):
            raise  # nothing was decoded
        return whole


def _bits(image: Image.Image, file: BinaryIO) -> int:
    """Return `_Kind.bits`."""
    if image.format == "AVIF":
        return boxes.avif_bits(file)
    return boxes.jpeg2000_bits(file) if image.format == "JPEG2000" else 8


def _read(path: Path, image: Image.Image, file: BinaryIO, said: list[str], kind: _Kind) -> Still:
    bits, lost = kind.bits, [*_reduced(image, kind)]
    if kind.several:
        lost.append(SEVERAL)
    foreign = boxes.jpeg2000_metadata(file) if image.format == "JPEG2000" else {}
    for name in ("exif", "xmp"):
        if name in foreign:
            image.info.setdefault(name, foreign[name])
    about = gathered(image)
    lost += _left_out(image, file, about.xmp or b"")
    profile = image.info.get("icc_profile") or foreign.get("icc")
    alpha = image.mode == "RGBA" or "transparency" in image.info
    grey_alpha = False
    if _has_16_bit_colour(image, kind):
        file.seek(0)
        pixels = _decoded(file.read(), str(image.format), alpha)
        if image.format == "JPEG2000":
            pixels = widened(pixels, bits)
    else:
        pixels, grey_alpha, converted, gone = _samples(path, image, profile)
        profile = None if converted else profile
        lost += gone
        if image.format == "JPEG2000" and pixels.dtype == np.uint16:
            pixels = widened(pixels, bits)
    pixels = oriented(pixels, about.orientation)
    return Still(
        pixels=pixels,
        grey_alpha=grey_alpha,
        profile=profile,
        exif=about.exif,
        dpi=image.info.get("dpi"),
        damage=damage.found(file, image, said) + about.damage,
        xmp=about.xmp,
        iptc=about.iptc or foreign.get("iptc"),
        texts=about.texts,
        compression=image.info.get("compression") if image.format == "TIFF" else None,
        lost=(*lost, *about.lost),
        origin=origin_of(pixels, kind.turned or about.orientation),
    )


def _left_out(image: Image.Image, file: BinaryIO, xmp: bytes) -> list[str]:
    """Return a sentence about each thing of a file that is no part of its picture."""
    if image.format in ("JPEG", "MPO"):
        return attached.of_jpeg(file, image, xmp)
    return attached.of_boxes(file) if str(image.format).upper() in ("AVIF", "JXL") else []


def _samples(path: Path, image: Image.Image, profile: bytes | None) -> Samples:
    """Return the samples of a picture (InputError: they cannot be used)."""
    try:
        return samples(image, profile)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", advice=error.advice) from error


def _has_16_bit_colour(image: Image.Image, kind: _Kind) -> bool:
    """Return whether the file has 16-bit colour, which Pillow would reduce to 8 bits."""
    if image.mode not in ("RGB", "RGBA") or image.format not in _DEEP:
        return False
    if image.format == "JPEG2000":
        return kind.bits > 8
    raw = kind.raw
    return (image.format == "PPM" and isinstance(raw, tuple) and raw[1] > 255) or ";16" in str(raw)


def _raw(image: Image.Image) -> Any:
    """Return Pillow's name of the samples of a file that is not loaded."""
    tiles = getattr(image, "tile", None)
    return tiles[0][3] if tiles else ""


def _reduced(image: Image.Image, kind: _Kind) -> list[str]:
    """Return what is lost of deep samples that Pillow reads as 8 bits."""
    if image.format == "AVIF" and kind.bits > 8:
        return [f"its {kind.bits} bits a sample are read as 8"]
    if image.mode == "CMYK" and ";16" in str(kind.raw):
        return ["its 16 bits a sample are read as 8"]
    return []


def _decoded(data: bytes, kind: str, alpha: bool) -> npt.NDArray[Any]:
    """Return the pixels of a whole file of a kind of `_DEEP` (FFmpegError: it is damaged)."""
    # (H, W, 3) uint16, or with `alpha` (H, W, 4).
    import av  # which most pictures do without
    from av.packet import Packet

    decoder: Any = av.CodecContext.create(_DEEP[kind], "r")
    decoder.thread_count = 1
    decoder.options = {"max_pixels": str(limits.greatest())}
    frames = [*decoder.decode(Packet(data)), *decoder.decode(None)]
    if not frames:
        raise ValueError("there are no pixels in it")
    pixels: npt.NDArray[Any] = frames[0].to_ndarray(format="rgba64le" if alpha else "rgb48le")
    return pixels
