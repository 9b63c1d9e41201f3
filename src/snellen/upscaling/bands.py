"""Bands of a large picture: one after another they take little memory, and the result is the same.

A result depends on few samples around it. So a band has so many rows more than it gives, and what
is made of it is equal, to the bit, to what is made of the whole picture. Where sums are rounded by
tiles, bands begin where tiles do, and see those that they need as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PIXELS = 16 << 20
"""Most pixels of a band's result. Colour takes some 35 bytes for each while it is enlarged."""
ON_GPU = 256 << 20
"""The same where a GPU does the work: host memory then holds samples only, and pictures that are
one band are in flight together. Colour takes some 20 bytes of GPU memory for each."""
LEAST = 8
"""Least rows of a band, as a multiple of those that a result depends on, above or below."""


@dataclass(frozen=True, slots=True)
class Band:
    """Rows of a picture."""

    top: int
    """First row that is read."""
    bottom: int
    """End of the rows that are read."""
    first: int
    """First row of which a result is kept."""
    last: int
    """End of these rows."""

    def rows(self, scale: int) -> slice:
        """Return the rows of the whole result that are this band's."""
        return slice(self.first * scale, self.last * scale)

    def kept(self, scale: int) -> slice:
        """Return these rows within what is made of the rows `top` … `bottom`."""
        return slice((self.first - self.top) * scale, (self.last - self.top) * scale)


def bands(
    height: int, width: int, scale: int, reach: int, tile: int = 1, *, on_gpu: bool = False
) -> Iterator[Band]:
    """Yield the bands of a picture; a small one is a single band.

    All bands have equally many rows, so that what is prepared for one serves the others, and are
    as few as may be.

    Parameters
    ----------
    height, width : int
        Of the picture, pixels.
    scale : int
        Magnification.
    reach : int
        How many rows above and below a result depends on at most.
    tile : int
        Rows of a tile: bands, and what is kept of them, begin at multiples of it.
    on_gpu : bool
        Whether a GPU does the work.
    """
    below = reach + tile - 1
    above = -(-below // tile) * tile
    most = max((ON_GPU if on_gpu else PIXELS) // (width * scale**2), LEAST * below)
    step = size = height
    if height > most:
        count = -(-height // ((most - above - below) // tile * tile))
        step = -(-height // (count * tile)) * tile
        size = min(height, step + above + below)
        size += (height - size) % tile  # so that the last, which ends with the picture, fits, too
    for first in range(0, height, step):
        top = min(max(0, first - above), height - size)
        yield Band(top, top + size, first, min(first + step, height))
