"""HEIC and HEIF files, read by the package pi-heif, of the extra `snellen[stills]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from snellen.errors import InputError
from snellen.files.signatures import HEVC_BRANDS
from snellen.files.still_formats import HEIC
from snellen.frames import limits
from snellen.frames.still_value import Header, Still, origin_of, widened
from snellen.stills import attached
from snellen.stills.boxes import brands
from snellen.stills.image_file import SLACK, check_whole, size_of
from snellen.stills.still_metadata import stripped, upright

_SAMPLES = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
_PIXELS_PER_BYTE = 1 << 14
"""Most pixels of a byte that are plausible."""


def is_taken(file: BinaryIO) -> bool:
    """Return whether a file is a HEIC file."""
    file.seek(0)
    return not HEVC_BRANDS.isdisjoint(brands(file.read(256)))


def read(path: Path, file: BinaryIO, said: list[str]) -> Still:
    """Return an image; see `still.read`. It is the right way up, as libheif turns it."""
    images = _opened(path, file)
    image = images[images.primary_index]
    mode, _, deep = str(image.mode).partition(";")
    if mode not in _SAMPLES:
        raise InputError(f"{path}: got colours of kind {mode}; expected grey or RGB")
    dtype = np.dtype("<u2" if deep else np.uint8)
    bits = int(image.info.get("bit_depth", 8))
    data, (width, height) = image.data, image.size
    rows = np.frombuffer(data, dtype).reshape(height, image.stride // dtype.itemsize)
    samples = rows[:, : width * _SAMPLES[mode]].reshape(height, width, -1)
    pixels = widened(samples.astype(np.uint16), bits) if deep else samples.copy()
    if mode == "LA":
        pixels = pixels[..., [0, 0, 0, 1]]
    info = image.info
    exif = Image.Exif()
    if info.get("exif"):
        exif.load(info["exif"])
    block, orientation, lost = stripped(exif)
    pixels = pixels[..., 0] if mode == "L" else pixels
    return Still(
        pixels=pixels,
        grey_alpha=mode == "LA",
        profile=info.get("icc_profile"),
        exif=block,
        damage=lost,
        xmp=upright(info.get("xmp")),
        lost=(
            *(["it holds several pictures: the main one is taken"] if len(images) > 1 else []),
            *attached.of_boxes(file),
        ),
        origin=origin_of(pixels, orientation),
    )


def header(path: Path, file: BinaryIO) -> Header:
    """Return the header of an image; see `still.header`."""
    width, height = _opened(path, file).size
    return Header(width, height, False)


def _opened(path: Path, file: BinaryIO) -> Any:
    """Return a file whose header has been read, and its sizes checked."""
    try:
        import pi_heif
    except ImportError as error:
        raise HEIC.missing(path) from error
    check_whole(path, file)  # which libheif gets
    file.seek(0)
    images = pi_heif.open_heif(file, convert_hdr_to_8bit=False)
    width, height = images.size
    limits.check_size(path, width, height)
    limits.check_plausible(path, width, height, size_of(file), _PIXELS_PER_BYTE, SLACK)
    return images
