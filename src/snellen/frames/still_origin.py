"""Where the points of a file's picture are in a result that is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
