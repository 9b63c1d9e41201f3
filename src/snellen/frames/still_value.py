"""The contents of an image file, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.still_origin import COLUMNS_FLIPPED, ROWS_FLIPPED, TRANSPOSING, Origin

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Still:
    """The pixels of an image file and the metadata that must stay with them."""

    pixels: Array
    """Samples, the right way up: (H, W) grey, (H, W, 3) RGB or (H, W, 4) RGBA; uint8, uint16 or
    float32."""
    grey_alpha: bool = False
    """The file stores the RGBA `pixels` as grey with alpha."""
    profile: bytes | None = None
    """ICC colour profile."""
    exif: bytes | None = None
    """EXIF block without its orientation, which `pixels` already has."""
    dpi: Any = field(default=None)
    """Resolution (across, down) in dots per inch."""
    damage: tuple[str, ...] = ()
    """Faults of the file whose pixels could be decoded all the same; empty: none is known."""
    xmp: bytes | None = None
    """XMP packet, whose orientation is 1."""
    iptc: bytes | None = None
    """IPTC data set (IIM)."""
    texts: tuple[tuple[str, str], ...] = ()
    """Key and text of comments and of PNG's texts; the key of a JPEG's comment is "Comment"."""
    compression: str | None = None
    """Pillow's name of the compression, of a TIFF file."""
    lost: tuple[str, ...] = ()
    """A sentence about each thing of the file that these values do not hold."""
    notes: tuple[str, ...] = ()
    """Notes on how the file was read, where nothing is lost."""
    origin: Origin | None = None
    """The picture of which EXIF and XMP speak; None: these pixels."""

    @property
    def is_deep_colour(self) -> bool:
        """Return whether these are 16-bit or float samples in colour, which Pillow has not."""
        return self.pixels.ndim == 3 and self.pixels.dtype != np.uint8


@dataclass(frozen=True, slots=True)
class Header:
    """The part of an image file that stands before its pixels."""

    width: int
    """Width in pixels after the EXIF orientation. A PNG may store its orientation behind the
    pixels, where it is not read: then this is the width before."""
    height: int
    """Height in pixels; see `width`."""
    floats: bool
    """Samples are floats."""


SEVERAL = "it holds several pictures: the first one is taken"
"""The loss of the other pictures of a file, as it is said."""


def oriented(pixels: Array, orientation: int) -> Array:
    """Apply an EXIF orientation, 1 … 8 (TIFF 6.0, tag 274)."""
    if orientation in TRANSPOSING:
        pixels = pixels.swapaxes(0, 1)
    if orientation in ROWS_FLIPPED:
        pixels = pixels[::-1]
    if orientation in COLUMNS_FLIPPED:
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def widened(pixels: Array, bits: int) -> Array:
    """Return samples of `bits` bits, which stand at the upper end of 16, so that white is 65535."""
    if bits >= 16:
        return pixels
    samples = (pixels >> (16 - bits)).astype(np.uint32)
    white = (1 << bits) - 1
    return ((samples * 65535 + white // 2) // white).astype(np.uint16)
