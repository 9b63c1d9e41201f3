"""Images that Pillow reads, as arrays; of 16-bit colour the pixels come from FFmpeg."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from PIL import ExifTags, Image, ImageCms

from snellen.errors import InputError
from snellen.frames import boxes, damage, deep
from snellen.frames.image_file import (
    check_header,
    check_kind,
    has_several,
    pillow_image,
)
from snellen.frames.still_metadata import gathered
from snellen.frames.still_value import TRANSPOSING, Array, Header, Still, oriented, widened
from snellen.frames.tiff_pages import FirstPage, Page

_END = b"\xff\xd9"
"""JPEG's marker EOI."""
_BEHIND_THE_FIRST = np.s_[20:], np.s_[:20, 20:]
"""Pixels that the first unit of a JPEG (16 × 16) does not reach: without data they are flat."""
_RELATIVE = ImageCms.Intent.RELATIVE_COLORIMETRIC


class _Kind(NamedTuple):
    """What a file says of its pixels, and no longer where they are loaded."""

    raw: Any
    """Pillow's name of the samples in the file."""
    bits: int
    """Bits of a sample in formats of which Pillow tells only whether they are many, else 8."""
    several: bool
    """Whether there are more pictures."""


def read(path: Path, file: BinaryIO, said: list[str], page: Page | None = None) -> Still:
    """Return an image, or a page of a TIFF file; see `still.read`."""
    view: Any = file if page is None else FirstPage(file, page)
    with pillow_image(path, view) as image:
        check_kind(path, image)
        several = page is None and has_several(image)
        kind = _Kind(_raw(image), _bits(image, file), several)
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
    """Return an image with its pixels; those of a JPEG that ends early as far as they go.

    For TIFF, Pillow applies the orientation here and removes it from the EXIF. Pixels of 16-bit
    colour are not taken from Pillow, but it refuses files that end early.
    """
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
        lost.append("it holds several pictures: the first one is taken")
    foreign = boxes.jpeg2000_metadata(file) if image.format == "JPEG2000" else {}
    for name in ("exif", "xmp"):
        if name in foreign:
            image.info.setdefault(name, foreign[name])
    about = gathered(image)
    profile = image.info.get("icc_profile") or foreign.get("icc")
    alpha = image.mode == "RGBA" or "transparency" in image.info
    if _has_16_bit_colour(image, kind):
        file.seek(0)
        pixels = deep.decode(file.read(), str(image.format), alpha)
        if image.format == "JPEG2000":
            pixels = widened(pixels, bits)
    elif image.mode == "CMYK":
        pixels, how = _from_cmyk(image, profile)
        profile = None
        lost.append(how)
    else:
        pixels = _pixels(path, image)
        if image.format == "JPEG2000" and pixels.dtype == np.uint16:
            pixels = widened(pixels, bits)
    return Still(
        pixels=oriented(pixels, about.orientation),
        grey_alpha=image.mode == "LA" or (image.mode in ("L", "1") and alpha),
        profile=profile,
        exif=about.exif,
        dpi=image.info.get("dpi"),
        damage=damage.found(file, image, said) + about.damage,
        xmp=about.xmp,
        iptc=about.iptc or foreign.get("iptc"),
        texts=about.texts,
        compression=image.info.get("compression") if image.format == "TIFF" else None,
        lost=(*lost, *about.lost),
    )


def _has_16_bit_colour(image: Image.Image, kind: _Kind) -> bool:
    """Return whether the file has 16-bit colour, which Pillow would reduce to 8 bits."""
    if image.mode not in ("RGB", "RGBA") or image.format not in deep.DECODERS:
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


def _from_cmyk(image: Image.Image, profile: bytes | None) -> tuple[Array, str]:
    """Return CMYK as sRGB, by its profile where it has one, and a sentence about it."""
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(BytesIO(profile))
            converted = ImageCms.profileToProfile(
                image, source, ImageCms.createProfile("sRGB"), _RELATIVE, "RGB",
                flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
            )  # fmt: skip
            assert converted is not None
            name = ImageCms.getProfileDescription(source).strip()
            return np.asarray(converted), f"its CMYK is converted to sRGB, by its profile {name}"
        except (ImageCms.PyCMSError, ImportError, OSError, ValueError):
            why = "since its profile cannot be used"
    else:
        why = "since it has none"
    return np.asarray(
        image.convert("RGB")
    ), f"its CMYK is converted to RGB without a profile, {why}"


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
