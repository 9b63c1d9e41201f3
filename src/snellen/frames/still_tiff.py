"""TIFF files with 16-bit or float colour, which Pillow does not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from snellen.errors import InputError
from snellen.frames import damage, limits, tiff
from snellen.frames.image_file import size_of
from snellen.frames.still_metadata import XMP, iptc_of, stripped, upright
from snellen.frames.still_value import TRANSPOSING, Array, Header, Still, oriented
from snellen.frames.tiff_pages import Page

_PACKED, _SLACK = 1 << 14, 1 << 16
"""As of `image_file`: most pixels in a byte, and pixels that are not worth a check."""
_PREMULTIPLIED, _UNSPECIFIED = 1, 0


def is_taken(file: BinaryIO, page: Page | None = None) -> bool:
    """Return whether a file, or a page of it, is one of these."""
    tags = tiff.directory(file, None if page is None else page.offset)
    return tags is not None and tiff.is_ours(tags)


def read(path: Path, file: BinaryIO, said: list[str], page: Page | None = None) -> Still:
    """Return an image, or a page; see `still.read`."""
    at = None if page is None else page.offset
    tags, about = _opened(path, file, at)
    samples = tiff.read(file, about)
    exif = tiff.exif_of(file, at)
    xmp: Any = tags.get(XMP)
    profile, compression = tags.get(tiff.PROFILE), about.compression
    iptc = iptc_of(exif)
    block, orientation, lost = stripped(exif)
    found = damage.tiff(file, tags, about.width, about.height)
    reduced = about.dtype.kind == "f" and about.dtype.itemsize == 8
    return Still(
        pixels=oriented(_pixels(path, samples, about), orientation),
        grey_alpha=about.samples == 2 and about.extra != _UNSPECIFIED,
        profile=profile if isinstance(profile, bytes) else None,
        exif=block,
        dpi=_dpi(tags),
        damage=(*damage.listed(said), *found, *lost),
        xmp=upright(xmp) if isinstance(xmp, bytes) else None,
        iptc=iptc,
        compression=compression,
        lost=(
            *(["its floats of 64 bits are read as 32"] if reduced else []),
            *(
                ["it holds several pictures: the first one is taken"]
                if tags.next and page is None
                else []
            ),
        ),
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
    most = 1 if about.compression == "raw" else _PACKED
    limits.check_plausible(path, about.width, about.height, size_of(file), most, _SLACK)
    return tags, about


def _dpi(tags: ImageFileDirectory_v2) -> tuple[float, float] | None:
    """Return the resolution in dots per inch."""
    x, y = tags.get(tiff.X_RESOLUTION), tags.get(tiff.Y_RESOLUTION)
    factor = {2: 1.0, 3: 2.54}.get(tags.get(tiff.UNIT, 2))
    return (float(x) * factor, float(y) * factor) if x and y and factor else None


def _pixels(path: Path, samples: Array, about: tiff.Layout) -> Array:
    """Return samples as `Still` has them."""
    if about.dtype.kind == "f":
        with np.errstate(over="ignore"):
            samples = samples.astype(np.float32, copy=False)
        if about.samples in (2, 4) and about.extra != _UNSPECIFIED:
            raise InputError(f"{path}: got float samples with transparency; expected none")
    if about.inverted and about.dtype.kind == "u":
        samples[..., 0] = 65535 - samples[..., 0]
    if about.samples == 1:
        return samples[..., 0]
    if about.extra == _UNSPECIFIED and about.samples in (2, 4):
        samples = samples[..., :-1]
        return samples[..., 0] if about.samples == 2 else samples
    if about.extra == _PREMULTIPLIED and about.samples in (2, 4):
        samples = _straight(samples)
    return samples[..., [0, 0, 0, 1]] if about.samples == 2 else samples


def _straight(samples: Array) -> Array:
    """Return uint16 samples that are not multiplied by alpha, the last one."""
    alpha = samples[..., -1:].astype(np.float32)
    colour = samples[..., :-1] * (np.float32(65535) / np.maximum(alpha, 1))
    out = samples.copy()
    out[..., :-1] = np.minimum(np.rint(colour), 65535)
    return out
