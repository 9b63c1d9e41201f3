"""Pictures of Pillow as samples, whatever their mode: those of files, and those of a caller.

What a mode means beside its array (a palette, inks, another order or kind of components) is
resolved here, and only here.
"""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageCms

from snellen.errors import InputError, caution, quoted
from snellen.frames import lab
from snellen.frames.still_value import Array, widened
from snellen.frames.tiff_kinds import BITS, WHITE_IS_ZERO, WHITE_POINT, Kind, kind_of, left_out

MODES = (
    "1", "L", "LA", "La", "P", "PA", "RGB", "RGBX", "RGBA", "RGBa", "CMYK", "YCbCr", "HSV", "LAB",
    "I", "F",
)  # fmt: skip
"""Modes that are taken, beside grey of 16 bits."""
_RELATIVE = ImageCms.Intent.RELATIVE_COLORIMETRIC
_TOO_DEEP = "got 32-bit samples; expected 8 or 16 bit, or float32"
_PLAIN_YCC = (
    (529, "coefficients", (0.299, 0.587, 0.114), (0.299, 0.587, 0.114)),
    (530, "chroma subsampled by", (1, 1), (2, 2)),
    (532, "black and white", (0, 255, 128, 255, 128, 255), (0, 255, 128, 255, 128, 255)),
)
"""YCbCr without compression that Pillow reads right: tags of TIFF 6.0, what they must say, and what
they say where they are missing."""
_OUTSIDE = 0.5
"""How far floats may lie outside of 0 to 1, by overshoot, where 0 is white."""
_DEEPEST = 4
"""Lists in lists in which pictures are looked for: axes of a batch."""


class Samples(NamedTuple):
    """Samples that a picture shows."""

    pixels: Array
    """(H, W) grey, (H, W, 3) RGB or (H, W, 4) RGBA; uint8, uint16 or float32."""
    grey_alpha: bool = False
    """RGBA stands for grey with alpha."""
    srgb: bool = False
    """The colours are sRGB now, so that a colour profile does not count any more."""
    lost: tuple[str, ...] = ()
    """A sentence about each thing that the samples do not hold."""


def refused(image: Image.Image) -> str | None:
    """Return why the samples of a picture cannot be used, as far as its header shows; or None."""
    mode = image.mode
    if mode not in MODES and not _is_deep(mode):
        return f"got colours of kind {mode}; expected grey, RGB or CMYK"
    # Even if all values are below 65536: the value of white is unknown.
    if mode == "I" and max(getattr(image, "tag_v2", {}).get(BITS, (16,))) > 16:
        return _TOO_DEEP
    if mode == "YCbCr" and image.format == "TIFF":
        tags = getattr(image, "tag_v2", {})
        for tag, name, wanted, usual in _PLAIN_YCC:
            found = tuple(float(one) for one in tags.get(tag, usual))
            if not np.allclose(found, wanted, atol=1e-3):
                return f"got YCbCr of TIFF with {name} {found}; expected {wanted}"
    return None


def samples(image: Image.Image, profile: bytes | None) -> Samples:
    """Return the samples of a picture of Pillow whose pixels are loaded.

    The ICC profile counts for CMYK. InputError: as `refused` says, or integers that do not fit in
    16 bits; the message begins with "got".
    """
    if reason := refused(image):
        raise InputError(reason, advice="convert the image first")
    kind = _tiff_kind(image)
    found = _samples(image, profile)
    if kind is None:
        return found
    pixels = found.pixels
    if pixels.dtype == np.uint16 and kind.bits is not None and kind.bits < 16:
        pixels = widened(pixels << (16 - kind.bits), kind.bits)
    if kind.photometric == WHITE_IS_ZERO and pixels.dtype != np.uint8:  # which Pillow leaves
        pixels = inverted(pixels)
    return found._replace(pixels=pixels, lost=(*left_out(kind), *found.lost))


def _samples(image: Image.Image, profile: bytes | None) -> Samples:
    """Return the samples of a picture by its mode."""
    mode = image.mode
    if mode == "CMYK":
        pixels, how = from_cmyk(image, profile)
        return Samples(pixels, srgb=True, lost=(how,))
    if mode == "LAB":
        return Samples(_from_lab(image), srgb=True, lost=("its L*a*b* is converted to sRGB",))
    if mode == "F":
        return Samples(np.asarray(image, np.float32))
    if mode == "I" or _is_deep(mode):
        return Samples(_grey16(image))
    if not image.has_transparency_data:
        grey = mode in ("1", "L")
        wanted = "L" if grey else "RGB"
        return Samples(np.asarray(image if mode == wanted else image.convert(wanted)))
    grey = mode in ("1", "L", "LA", "La")
    if mode == "La":  # of which Pillow makes nothing but LA
        image = image.convert("LA")
    return Samples(np.asarray(image if mode == "RGBA" else image.convert("RGBA")), grey)


def resolved(image: Any, depth: int = 0) -> Any:
    """Return a caller's picture of Pillow as an array, as its file would be read.

    In lists the pictures are arrays then; all else stays as it is. What is lost is a warning.
    InputError: pixels that cannot be decoded, or as of `samples`.
    """
    if isinstance(image, list | tuple) and image and depth < _DEEPEST:
        if isinstance(image[0], Number):  # a row of samples
            return image
        return [resolved(one, depth + 1) for one in image]
    if not isinstance(image, Image.Image):
        return image
    if image.mode == "I" and image.format is None:  # else `refused` knows the bits of its file
        raise InputError(_TOO_DEEP, advice="convert it: numpy.asarray(image).astype(numpy.uint16)")
    try:
        image.load()
    except Exception as error:  # Pillow raises exceptions of nearly every class.
        raise InputError(f"the picture cannot be decoded: {quoted(error, str)}") from error
    found = samples(image, image.info.get("icc_profile"))
    for text in found.lost:
        caution(f"a picture of Pillow: {text}")
    return found.pixels


def inverted(samples: Array) -> Array:
    """Return samples of which 0 was white so that 0 is black.

    InputError: floats that do not lie between 0 and 1, as their black is unknown.
    """
    if samples.dtype.kind == "f":
        least, most = float(samples.min(initial=0)), float(samples.max(initial=1))
        if not (least >= -_OUTSIDE and most <= 1 + _OUTSIDE):
            raise InputError(
                f"got floats from {least:g} to {most:g} of which 0 is white; expected 0 to 1",
                advice="convert the image to one in which 0 is black",
            )
        return np.float32(1) - samples
    return np.iinfo(samples.dtype).max - samples


def from_cmyk(image: Image.Image, profile: bytes | None) -> tuple[Array, str]:
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
    rgb = np.asarray(image.convert("RGB"))
    return rgb, f"its CMYK is converted to RGB without a profile, {why}"


def _from_lab(image: Image.Image) -> Array:
    """Return L*a*b* of 8 bits, of which arrays have a* and b* signed, as sRGB."""
    white: Any = getattr(image, "tag_v2", {}).get(WHITE_POINT)
    offset = np.asarray(image) ^ np.array([0, 128, 128], np.uint8)
    return lab.srgb(offset, 255, 1, lab.chromaticity(white))


def _tiff_kind(image: Image.Image) -> Kind | None:
    """Return what the samples of a TIFF file are; None of other pictures."""
    if image.format == "TIFF":
        with suppress(Exception):  # of tags that are wrong, but not for Pillow
            return kind_of(image.tag_v2)  # type: ignore[attr-defined]
    return None


def _is_deep(mode: str) -> bool:
    """Return whether a mode is grey of 16 bits, in an order of bytes that is known."""
    return mode.startswith("I;16") and mode != "I;16N"


def _grey16(image: Image.Image) -> Array:
    """Return 16-bit grey; RGBA if the file declares one value transparent (PNG's tRNS chunk)."""
    pixels = np.asarray(image)
    least, most = int(pixels.min(initial=0)), int(pixels.max(initial=0))
    if least < 0:
        raise InputError("got negative samples; expected 8 or 16 bit, or float32")
    if most > 0xFFFF:
        raise InputError(_TOO_DEEP)
    grey = pixels.astype(np.uint16)
    transparent = image.info.get("transparency")
    if transparent is None:
        return grey
    alpha = np.where(grey == transparent, 0, 0xFFFF).astype(np.uint16)
    return np.stack([grey, grey, grey, alpha], axis=-1)
