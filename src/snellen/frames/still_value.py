"""The contents of an image file as values, and where its points are in results made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TRANSPOSING = (5, 6, 7, 8)
"""EXIF orientations that exchange rows and columns."""
ROWS_FLIPPED, COLUMNS_FLIPPED = (3, 4, 7, 8), (2, 3, 6, 7)
"""Those that turn rows, or columns, round; after the exchange."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The picture of a file, of which pixels are made; EXIF and XMP speak of it as it is stored."""

    width: int
    height: int
    """Size in pixels, the right way up."""
    orientation: int
    """EXIF's, which says how the stored picture is turned to be so."""
    part: tuple[int, int, int, int]
    """Left, top, width and height of what the pixels show, in the picture the right way up."""


def origin_of(pixels: Any, orientation: int) -> Origin:
    """Return the origin of pixels that have been read and turned."""
    height, width = pixels.shape[:2]
    return Origin(width, height, orientation, (0, 0, width, height))


@dataclass(frozen=True, slots=True)
class Mapping:
    """From the stored picture to a result; lengths in pixels, points from the upper left corner."""

    origin: Origin
    width: int
    height: int
    """Rows of the result."""

    @property
    def transposes(self) -> bool:
        """Return whether rows become columns."""
        return self.origin.orientation in TRANSPOSING

    @property
    def only_scales(self) -> bool:
        """Return whether the result shows all of the stored picture, as it lies."""
        whole = (0, 0, self.origin.width, self.origin.height)
        return self.origin.orientation == 1 and self.origin.part == whole

    @property
    def factors(self) -> tuple[float, float]:
        """Pixels of the result for one of the picture the right way up, across and down."""
        return self.width / self.origin.part[2], self.height / self.origin.part[3]

    @property
    def stored(self) -> tuple[int, int]:
        """Width and height of the stored picture."""
        size = self.origin.width, self.origin.height
        return size[::-1] if self.transposes else size

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the stored picture is."""
        one = self.origin
        if self.transposes:
            x, y = y, x
        x = one.width - x if one.orientation in COLUMNS_FLIPPED else x
        y = one.height - y if one.orientation in ROWS_FLIPPED else y
        across, down = self.factors
        return (x - one.part[0]) * across, (y - one.part[1]) * down

    def span(self, width: float, height: float) -> tuple[float, float]:
        """Return the size that a rectangle has."""
        if self.transposes:
            width, height = height, width
        across, down = self.factors
        return width * across, height * down

    def length(self, length: float) -> float:
        """Return the length that a distance in any direction has."""
        across, down = self.factors
        return length * (across + down) / 2

    def extent(self, size: list[float]) -> tuple[float, ...]:
        """Return the size of EXIF's subject: none, of a point; a diameter; or width and height."""
        if len(size) > 2:
            raise ValueError("a subject has at most width and height")
        return self.span(*size) if len(size) == 2 else tuple(map(self.length, size))


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


def narrowed(pixels: Array) -> Array:
    """Return 16-bit samples as 8-bit ones, rounded; some rows at a time, which takes no memory."""
    out = np.empty(pixels.shape, np.uint8)
    for row, narrow in zip(pixels, out, strict=True):
        narrow[...] = (row.astype(np.uint32) * 255 + 32767) // 65535
    return out
