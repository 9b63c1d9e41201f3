"""TIFF files whose samples Pillow does not read as they are: deep colour, extra samples, L*a*b*."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from snellen.errors import InputError
from snellen.frames import lab, limits
from snellen.frames.pillow_pixels import Samples, from_cmyk, inverted
from snellen.frames.still_value import TRANSPOSING, Header, Still, narrowed, oriented, origin_of
from snellen.frames.tiff_kinds import (
    ASSOCIATED,
    CIE_LAB,
    CMYK,
    ICC_LAB,
    WHITE_IS_ZERO,
    WHITE_POINT,
    Kind,
    kind_of,
    left_out,
)
from snellen.stills import damage, tiff
from snellen.stills.image_file import PACKED, SLACK, size_of
from snellen.stills.still_metadata import XMP, iptc_of, stripped, upright
from snellen.stills.tiff_pages import Page

Array = npt.NDArray[Any]

_ICC_WHITE = 0xFF00
"""L* = 100 in 16 bits of ICC L*a*b*; 100 is 65535 in CIE L*a*b*, and 255 of 8 bits in both."""


def is_taken(file: BinaryIO, page: Page | None = None) -> bool:
    """Return whether a file, or a page of it, is one of these."""
    tags = tiff.directory(file, None if page is None else page.offset)
    if tags is None:
        return False
    try:
        return kind_of(tags).is_ours
    except Exception:  # of tags that are wrong, which Pillow will say
        return False


def read(path: Path, file: BinaryIO, said: list[str], page: Page | None = None) -> Still:
    """Return an image, or a page; see `still.read`."""
    at = None if page is None else page.offset
    tags, about = _opened(path, file, at)
    samples = tiff.read(file, about)
    exif = tiff.exif_of(file, at)
    xmp: Any = tags.get(XMP)
    profile: Any = tags.get(tiff.PROFILE)
    profile = profile if isinstance(profile, bytes) else None
    iptc = iptc_of(exif)
    block, orientation, lost = stripped(exif)
    found = damage.tiff(file, tags, about.width, about.height)
    try:
        meant = _shown(samples, about.kind, profile, tags.get(WHITE_POINT))
    except InputError as error:
        raise InputError(f"{path}: {error.message}", advice=error.advice) from error
    pixels = oriented(meant.pixels, orientation)
    return Still(
        pixels=pixels,
        grey_alpha=meant.grey_alpha,
        profile=None if meant.srgb else profile,
        exif=block,
        dpi=_dpi(tags),
        damage=(*damage.listed(said), *found, *lost),
        xmp=upright(xmp) if isinstance(xmp, bytes) else None,
        iptc=iptc,
        compression=about.compression,
        origin=origin_of(pixels, orientation),
        lost=meant.lost,
    )


def header(path: Path, file: BinaryIO) -> Header:
    """Return the header of an image; see `still.header`."""
    tags, about = _opened(path, file)
    width, height = about.width, about.height
    if tags.get(tiff.ORIENTATION) in TRANSPOSING:
        width, height = height, width
    return Header(width, height, about.dtype.kind == "f")


def _opened(
    path: Path, file: BinaryIO, at: int | None = None
) -> tuple[ImageFileDirectory_v2, tiff.Layout]:
    """Return tags and layout; refuse (InputError) what is too large, or more than a file holds."""
    tags = tiff.directory(file, at)
    assert tags is not None
    about = tiff.layout(tags)
    limits.check_size(path, about.width, about.height)
    pixel = about.bits * about.kind.samples
    most = max(1, 8 // pixel) if about.compression == "raw" else PACKED
    limits.check_plausible(path, about.width, about.height, size_of(file), most, SLACK)
    return tags, about


def _dpi(tags: ImageFileDirectory_v2) -> tuple[float, float] | None:
    """Return the resolution in dots per inch."""
    x, y = tags.get(tiff.X_RESOLUTION), tags.get(tiff.Y_RESOLUTION)
    factor = {2: 1.0, 3: 2.54}.get(tags.get(tiff.UNIT, 2))
    return (float(x) * factor, float(y) * factor) if x and y and factor else None


def _shown(samples: Array, kind: Kind, profile: bytes | None, white_point: Any) -> Samples:
    """Return what samples show: colours (H, W, C), with alpha behind them if `kind` has such."""
    # InputError: floats with transparency, or floats that are no shades between white and black.
    colours, alpha = samples[..., : kind.colours], samples[..., kind.colours :]
    lost = left_out(kind)
    floats = samples.dtype.kind == "f"
    if floats:
        if kind.alpha is not None:
            raise InputError("got float samples with transparency; expected none")
        if samples.dtype.itemsize == 8:
            lost.append("its floats of 64 bits are read as 32")
        with np.errstate(over="ignore"):
            colours = colours.astype(np.float32, copy=False)
    elif kind.alpha is not None and kind.extras[kind.alpha - kind.colours] == ASSOCIATED:
        colours = _straight(colours, alpha)
    srgb = False
    if kind.photometric == WHITE_IS_ZERO:
        colours = inverted(colours)
    elif kind.photometric == CMYK:
        if colours.dtype == np.uint16:
            colours, alpha = narrowed(colours), narrowed(alpha)
            lost.append("its 16 bits a sample are read as 8")
        data = np.ascontiguousarray(colours)
        size = data.shape[1], data.shape[0]
        image = Image.frombuffer("CMYK", size, data, "raw", "CMYK", 0, 1)
        colours, how = from_cmyk(image, profile)
        lost.append(how)
        srgb = True
    elif kind.photometric in (CIE_LAB, ICC_LAB):
        colours = _from_lab(colours, kind.photometric, white_point)
        lost.append("its L*a*b* is converted to sRGB")
        srgb = True
    grey = colours.shape[2] == 1
    if not alpha.shape[2]:
        return Samples(colours[..., 0] if grey else colours, False, srgb, tuple(lost))
    if grey:
        colours = colours[..., [0, 0, 0]]
    return Samples(np.concatenate([colours, alpha], -1), grey, srgb, tuple(lost))


def _from_lab(samples: Array, photometric: int, white_point: Any) -> Array:
    """Return L*a*b*, or L* alone, as sRGB."""
    most = int(np.iinfo(samples.dtype).max)
    middle = (most + 1) // 2
    if samples.shape[2] == 1:
        neutral = np.full_like(samples, middle)
        samples = np.concatenate([samples, neutral, neutral], -1)
    elif photometric == CIE_LAB:  # a* and b* are signed
        samples = samples ^ np.array([0, middle, middle], samples.dtype)
    deep = most > 255
    lightest = _ICC_WHITE if deep and photometric == ICC_LAB else most
    return lab.srgb(samples, lightest, 256 if deep else 1, lab.chromaticity(white_point))


def _straight(colours: Array, alpha: Array) -> Array:
    """Return colours that were multiplied by alpha as they are without."""
    most = np.float32(np.iinfo(colours.dtype).max)
    straight = colours * (most / np.maximum(alpha.astype(np.float32), 1))
    return np.minimum(np.rint(straight), most).astype(colours.dtype)
