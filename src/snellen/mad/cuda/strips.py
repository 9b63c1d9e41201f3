"""Division of the grid of blocks into strips, one for each warp: see moments.cuh."""

from __future__ import annotations

from snellen.gpu.device import multiprocessors
from snellen.mad.definition import BLOCK, STEP, grid

LANES = 32  # width of a strip in tiles; each lane of the warp has one
THREADS = 128  # of a thread block: four independent strips
HALO = BLOCK // STEP - 1  # tiles of a block beyond its first one, to the right and below
BUSY = 16  # warps that each multiprocessor should have at once
SHORTEST = 8  # least height of a strip in rows of blocks; each strip reads HALO more rows of tiles


class Strips:
    """The strips of planes of one size.

    Attributes
    ----------
    grid : tuple of int
        Grid of the launch: thread blocks across, strips down, planes.
    extent : tuple of int
        Rows and columns of the grid of blocks, and rows of a strip.
    """

    def __init__(self, height: int, width: int, planes: int = 1):
        rows, columns = grid(height, width)
        across = -(-columns // (LANES - HALO))
        wanted = max(1, BUSY * multiprocessors() // (across * planes))
        each = max(SHORTEST, -(-rows // wanted))
        self.grid = (-(-across * LANES // THREADS), -(-rows // each), planes)
        self.extent = (rows, columns, each)
