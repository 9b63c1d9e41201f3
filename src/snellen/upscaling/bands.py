"""Bands of a large picture: one after another they take little memory, and the result is the same.

A result depends on few samples around it. So a band has so many rows more than it gives, and what
is made of it is equal, to the bit, to what is made of the whole picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PIXELS = 4 << 20
"""Pixels of a band. Colour takes some 140 bytes for each while it is enlarged by 2."""
REACH = 24
"""Rows that a result depends on at most, above and below: A+ 6, the largest compact network 18."""


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


def bands(height: int, width: int) -> Iterator[Band]:
    """Yield the bands of a picture; a small one is a single band.

    All bands have equally many rows, so that what is prepared for one serves the others.
    """
    size = min(height, max(PIXELS // width, 4 * REACH))
    step = height if size == height else size - 2 * REACH
    for first in range(0, height, step):
        top = min(max(0, first - REACH), height - size)
        yield Band(top, top + size, first, min(first + step, height))
