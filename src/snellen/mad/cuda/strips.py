"""How the grid of blocks is cut into strips that threads walk down: see moments.cuh."""

from __future__ import annotations

from snellen.gpu.device import multiprocessors
from snellen.mad.definition import BLOCK, STEP, grid

LANES = 32  # tiles across of a strip, a warp's
THREADS = 128  # of a block: four strips that have nothing to do with each other
HALO = BLOCK // STEP - 1  # tiles right of a block's first one, and below
BUSY = 16  # warps on each multiprocessor at once
SHORTEST = 8  # rows of blocks of a strip: each strip costs HALO rows of tiles more


class Strips:
    """The cut for planes of one size.

    Attributes
    ----------
    grid : tuple of int
        Blocks of threads across, strips down, planes: the grid of a launch.
    extent : tuple of int
        Rows and columns of blocks, and rows of each strip.
    """

    def __init__(self, height: int, width: int, planes: int = 1):
        rows, columns = grid(height, width)
        across = -(-columns // (LANES - HALO))
        wanted = max(1, BUSY * multiprocessors() // (across * planes))
        each = max(SHORTEST, -(-rows // wanted))
        self.grid = (-(-across * LANES // THREADS), -(-rows // each), planes)
        self.extent = (rows, columns, each)
