"""How a period is laid on a GPU: lanes of a line, threads, blocks, and where the spectra are.

Chosen by measurement on an H200 (lab/mia-gpu.md); a GPU with less shared memory, or without
clusters, gets what fits. The result is the same, but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

from snellen.fft.lines import CELL, exchange, turns
from snellen.gpu.kernel import PORTABLE

HEAD = 6  # cells of sums and barriers
CLUSTERS = 90  # compute capability 9.0, Hopper: the first with clusters
BLACKWELL = 100  # whose clusters of 16 we have not seen
WIDEST = 16  # blocks of a cluster on Hopper
LANES = 16  # of a line, in a cluster: a pair of columns is in one warp
FEW = (2, 1)  # pictures of a multiprocessor up to which the soonest done is best: 32², larger


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
    half: int = 0
    """Values of a lane, of two real rows in one; 0: as of a row."""
    stash: int = 0
    """Values of f and h of each thread that are in shared memory instead of in registers."""
    resident: bool = True
    """Whether spectra are in shared memory; else in global memory, which the L2 cache holds."""

    @property
    def halves(self) -> int:
        """Values of a lane, of two real rows in one."""
        return self.half or self.across

    @property
    def aside(self) -> int:
        """Complex numbers of a picture in the order of threads, where each has one line."""
        alone = self.height // 2 * (self.width // self.halves) <= self.threads
        return self.threads * self.halves if self.stash and alone else 0

    @property
    def cells(self) -> int:
        """Complex numbers of a block's part of the spectra, and of what they are exchanged by."""
        if self.cluster == 1:
            whole = self.height * self.width * 3 // 2
            exchanged = self.threads // 32 * exchange(self.height, self.down)
            return whole + exchanged * self.beside
        rows, pairs = self.height // self.cluster, self.width // 2 // self.cluster
        sent = 2 * pairs * rows + 2 * pairs * rows // 2  # by a block to another, as rows or columns
        free = rows + rows // 2 + 2 * pairs
        along = max(exchange(self.width, values) for values in (self.across, self.halves))
        exchanged = along + exchange(self.height, self.down)
        return self.cluster * (2 * sent + free) + self.threads // 32 * exchanged

    @property
    def tables(self) -> int:
        """Complex numbers of the tables of turns."""
        found = turns(self.height, self.down) + turns(self.width, self.across)
        return found + (turns(self.width, self.halves) if self.halves != self.across else 0)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        held = self.tables + HEAD + self.cells * self.resident + self.stash * self.threads
        return CELL * held


def candidates(
    height: int, width: int, batch: int, gpu: Gpu, gaussian: bool = False
) -> list[Shape]:
    """Return layouts for so many pictures of a period, the best first; the last suits every GPU."""
    size, found = height * width, []
    down, across = (8 if side < 256 else 16 for side in (height, width))
    for cluster in clusters(height, width, batch, gpu):
        threads = width // cluster * LANES
        every = height <= width == 128  # all threads have a half row with four values, no more
        found.append(
            Shape(height, width, height // LANES, width // LANES, cluster, threads, beside=True,
                  half=4 if every else 0)
        )  # fmt: skip
    few = batch <= FEW[size > 32 * 32] * gpu.multiprocessors
    if size <= 64 * 64 and max(height, width) < 256 and few:
        found.append(Shape(height, width, down, across, threads=size // 8, beside=True))
    if size <= 32 * 32:
        found.append(Shape(height, width, down, across, threads=64, blocks=8))
    elif size <= 64 * 64:
        found.append(Shape(height, width, down, across, threads=256, blocks=2))
    elif size < 128 * 128:
        found.append(Shape(height, width, down, across))
    elif size == 128 * 128:
        down, across = (16 if side > 64 else 8 for side in (height, width))
        if gaussian and height == width:  # two transforms more want registers; 256 has no choice
            down = 8
        found.append(Shape(height, width, down, across, stash=8))
    return [*found, Shape(height, width, down, across, resident=False)]


def clusters(height: int, width: int, batch: int, gpu: Gpu) -> tuple[int, ...]:
    """Return how many blocks may share a picture, the best first; none where one is better."""
    if gpu.capability < CLUSTERS or min(height, width) < 64:
        return ()
    if height * width <= 128 * 128 and batch * WIDEST > 2 * gpu.multiprocessors:
        return ()
    return (WIDEST, PORTABLE) if gpu.capability < BLACKWELL else (PORTABLE,)
