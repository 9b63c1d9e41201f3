"""TIFF files whose samples Pillow does not read as they are: deep colour, extra samples, L*a*b*."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from PIL.TiffImagePlugin import ImageFileDirectory_v2

from snellen.errors import InputError
from snellen.frames import limits
from snellen.frames.still_value import TRANSPOSING, Header, Still, oriented, origin_of
from snellen.frames.tiff_kinds import kind_of
from snellen.stills import damage, tiff
from snellen.stills.image_file import size_of
from snellen.stills.still_metadata import XMP, iptc_of, stripped, upright
from snellen.stills.tiff_colours import shown
from snellen.stills.tiff_pages import Page

_PACKED, _SLACK = 1 << 14, 1 << 16
"""As of `image_file`: most pixels in a byte, and pixels that are not worth a check."""


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
        meant = shown(samples, about.kind, profile, tags.get(tiff.WHITE_POINT))
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
    most = max(1, 8 // pixel) if about.compression == "raw" else _PACKED
    limits.check_plausible(path, about.width, about.height, size_of(file), most, _SLACK)
    return tags, about


def _dpi(tags: ImageFileDirectory_v2) -> tuple[float, float] | None:
    """Return the resolution in dots per inch."""
    x, y = tags.get(tiff.X_RESOLUTION), tags.get(tiff.Y_RESOLUTION)
    factor = {2: 1.0, 3: 2.54}.get(tags.get(tiff.UNIT, 2))
    return (float(x) * factor, float(y) * factor) if x and y and factor else None
