"""How a period is laid on a GPU: lanes of a line, threads, blocks, and where the spectra are.

Chosen by measurement on an H200 (lab/mia-gpu.md); a GPU with less shared memory, or without
clusters, gets what fits. The result is the same, but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

CELL = 8  # bytes of a complex number
HEAD = 6  # cells of sums and barriers, before the tile
CLUSTERS = 90  # compute capability 9.0, Hopper: the first with clusters
WIDEST = 16  # blocks of a cluster on it; later GPUs of the same kind allow 8
RESERVED = 1024  # bytes of a block's shared memory that CUDA keeps


@dataclass(frozen=True)
class Gpu:
    """What the layout asks of a GPU."""

    capability: int
    """90 is 9.0."""
    shared: int
    """Bytes of shared memory that a block may have."""
    multiprocessors: int


@dataclass(frozen=True)
class Shape:
    """One layout."""

    height: int
    width: int
    down: int
    """Values of a lane, of a column."""
    across: int
    """The same of a row."""
    cluster: int = 1
    """Blocks for each picture."""
    threads: int = 512
    """Of a block."""
    blocks: int = 1
    """Of a multiprocessor, which bounds a thread's registers."""
    beside: bool = False
    """Whether both columns of a pair have lanes of their own: soonest done, not with least work."""
    stash: int = 0
    """Values of f and h of each thread that are in shared memory instead of in registers."""
    resident: bool = True
    """Whether spectra are in shared memory; else in global memory, which the L2 cache holds."""

    @property
    def cells(self) -> int:
        """Complex numbers of a block's part of the spectra, and of what they are exchanged by."""
        if self.cluster == 1:
            whole = self.height * self.width * 3 // 2
            exchanged = self.threads // 32 * exchange(self.height, self.down)
            return whole + exchanged * self.beside
        rows, pairs = self.height // self.cluster, self.width // 2 // self.cluster
        mirror = (2 * pairs + 7) // 16 * 16 + 8
        column = (mirror + 2 * pairs + 13) // 16 * 16 + 2
        pair = rows if rows // 2 % 8 else rows + 2
        sender = pairs * pair + (4 if pairs < 8 else 0)
        return (
            self.width * (rows | 1)
            + self.cluster * sender
            + self.height // 4 * 3 * column
            + self.threads
            // 32
            * max(exchange(self.height, self.down), exchange(self.width, self.across))
        )

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        tables = turns(self.height, self.down) + turns(self.width, self.across)
        return CELL * (tables + HEAD + self.cells * self.resident + self.stash * self.threads)


def turns(points: int, values: int) -> int:
    """Return the cells of the table of turns of a line."""
    lanes = points // values
    return max(lanes, values) * (6 if lanes > 2 * values else min(lanes, values) // 2 + 2)


def exchange(points: int, values: int) -> int:
    """Return the cells of the exchange of the lines of a warp, each with some to spare."""
    lanes = points // values
    of_value = values * (lanes // values + 1) if lanes > 2 * values else lanes + 1
    return 32 // lanes * values * of_value


def shape(height: int, width: int, batch: int, gpu: Gpu) -> Shape:
    """Return how so many pictures of a period are best laid on a GPU."""
    for found in candidates(height, width, batch, gpu):
        if found.shared <= gpu.shared:
            return found
    raise AssertionError("the last candidate needs no tile in shared memory")


def candidates(height: int, width: int, batch: int, gpu: Gpu) -> list[Shape]:
    """Return layouts, the best first."""
    size, found = height * width, []
    fewest, most = min(height, width), max(height, width)
    values = [8 if side < 256 else 16 for side in (height, width)]
    down, across = values
    if gpu.capability >= CLUSTERS and size >= 64 * 64 and fewest >= 64:
        for cluster in (16, 8) if gpu.capability < 100 else (8,):
            blocks = min(cluster, fewest // 8)
            few = batch * blocks <= 2 * gpu.multiprocessors or size > 128 * 128
            if few:
                threads = width // blocks * height // down
                found.append(Shape(height, width, down, across, blocks, threads, beside=True))
    if size <= 64 * 64 and most < 256 and batch <= FEW[size > 32 * 32] * gpu.multiprocessors:
        found.append(Shape(height, width, down, across, threads=size // 8, beside=True))
    if size <= 32 * 32:
        found.append(Shape(height, width, down, across, threads=64, blocks=8))
    elif size <= 64 * 64:
        found.append(Shape(height, width, down, across, threads=256, blocks=2))
    elif size == 128 * 128:
        found.append(Shape(height, width, down, 16 if width > 64 else 8, stash=8))
    elif size < 128 * 128:
        found.append(Shape(height, width, down, across))
    return [*found, Shape(height, width, down, across, resident=False)]


FEW = (
    2,
    1,
)  # pictures for each multiprocessor up to which the soonest done is the best: 32², larger
