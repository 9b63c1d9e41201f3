"""How mia.cu divides a period among lanes, threads and blocks, and which memory holds its spectra.

The candidates were chosen by measurement on an H200 (lab/mia-gpu.md). A GPU with less shared memory
or without clusters gets the first one that fits. All layouts compute the same, up to rounding.
docs/mia-kernel.md has drawings.
"""

from __future__ import annotations

from dataclasses import dataclass

from snellen.fft.lines import COMPLEX, exchange, twiddles
from snellen.gpu.kernel import PORTABLE

TOTALS = 6  # complex numbers of shared memory for the sums of f and h and for the mbarriers
HOPPER = 90  # compute capability 9.0: the first with clusters
BLACKWELL = 100  # clusters of 16 blocks have not been tried there
LARGEST_CLUSTER = 16  # blocks, on Hopper
CLUSTER_LANES = 16  # lanes of a line in a cluster, so that one warp holds a pair of columns
# Pictures per multiprocessor up to which concurrent columns are faster: for 32², and for larger.
FEW = (2, 1)


@dataclass(frozen=True)
class Gpu:
    """The properties of a GPU that decide which layout it gets."""

    capability: int
    """Compute capability: 90 is 9.0."""
    shared: int
    """Bytes of shared memory that one block may use."""
    multiprocessors: int
    """Number of multiprocessors."""


@dataclass(frozen=True)
class Layout:
    """One way to divide a period."""

    height: int
    """Rows of the period."""
    width: int
    """Columns of the period."""
    column_values: int
    """Values that each lane of a column holds."""
    row_values: int
    """Values that each lane of a row holds."""
    cluster: int = 1
    """Blocks for each picture."""
    threads: int = 512
    """Threads of a block."""
    blocks_per_sm: int = 1
    """Blocks that a multiprocessor must be able to hold, which bounds the registers of a thread."""
    concurrent: bool = False
    """True: both columns of a pair have lanes of their own (lowest latency). Otherwise the same
    lanes treat them one after the other (least work)."""
    half_values: int = 0
    """Values that each lane of a half row (two real rows as one line) holds; 0: as of a row."""
    in_shared: bool = True
    """True: spectra are in shared memory. Otherwise they are in global memory, cached by L2."""

    @property
    def half_row_values(self) -> int:
        """Values that each lane of a half row holds."""
        return self.half_values or self.row_values

    @property
    def workspace(self) -> int:
        """Complex numbers of a block's spectra and of the exchange memory of its lines."""
        warps = self.threads // 32
        if self.cluster == 1:
            tile = self.height * self.width * 3 // 2
            return tile + warps * exchange(self.height, self.column_values) * self.concurrent
        rows, pairs = self.height // self.cluster, self.width // 2 // self.cluster
        received = (
            2 * pairs * rows + 2 * pairs * rows // 2
        )  # from each block, as rows or as columns
        padding = rows + rows // 2 + 2 * pairs
        row_exchange = max(
            exchange(self.width, values) for values in (self.row_values, self.half_row_values)
        )
        exchanged = row_exchange + exchange(self.height, self.column_values)
        return self.cluster * (2 * received + padding) + warps * exchanged

    @property
    def tables(self) -> int:
        """Complex numbers of the twiddle tables."""
        found = twiddles(self.height, self.column_values) + twiddles(self.width, self.row_values)
        own = self.half_row_values != self.row_values
        return found + (twiddles(self.width, self.half_row_values) if own else 0)

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        workspace = self.workspace if self.in_shared else 0
        return COMPLEX * (self.tables + TOTALS + workspace)


def candidates(
    height: int, width: int, batch: int, gpu: Gpu, gaussian: bool = False
) -> list[Layout]:
    """Return the layouts for a batch of pictures of one period.

    Parameters
    ----------
    height, width : int
        Size of the period, each 32, 64, 128 or 256.
    batch : int
        Pictures that are iterated at once.
    gpu : Gpu
    gaussian : bool
        Whether the noise is Gaussian, which takes two more transforms and more registers.

    Returns
    -------
    list of Layout
        The fastest first; the last one suits every GPU.
    """
    size, found = height * width, []
    column_values, row_values = (8 if side < 256 else 16 for side in (height, width))
    for cluster in clusters(height, width, batch, gpu):
        # At 128² half rows with four values per lane occupy all threads.
        half = 4 if height <= width == 128 else 0
        found.append(
            Layout(height, width, height // CLUSTER_LANES, width // CLUSTER_LANES, cluster,
                   width // cluster * CLUSTER_LANES, concurrent=True, half_values=half)
        )  # fmt: skip
    few = batch <= FEW[size > 32 * 32] * gpu.multiprocessors
    if size <= 64 * 64 and max(height, width) < 256 and few:
        found.append(
            Layout(height, width, column_values, row_values, threads=size // 8, concurrent=True)
        )
    if size <= 32 * 32:
        found.append(Layout(height, width, column_values, row_values, threads=64, blocks_per_sm=8))
    elif size <= 64 * 64:
        found.append(Layout(height, width, column_values, row_values, threads=256, blocks_per_sm=2))
    elif size < 128 * 128:
        found.append(Layout(height, width, column_values, row_values))
    elif size == 128 * 128:
        column_values, row_values = (16 if side > 64 else 8 for side in (height, width))
        if gaussian and height == width:  # 16 values of columns would spill (256 points need 16)
            column_values = 8
        found.append(Layout(height, width, column_values, row_values))
    return [*found, Layout(height, width, column_values, row_values, in_shared=False)]


def clusters(height: int, width: int, batch: int, gpu: Gpu) -> tuple[int, ...]:
    """Return the cluster sizes to try, the fastest first; none where one block is faster."""
    if gpu.capability < HOPPER or min(height, width) < 64:
        return ()
    if height * width <= 128 * 128 and batch * LARGEST_CLUSTER > 2 * gpu.multiprocessors:
        return ()
    return (LARGEST_CLUSTER, PORTABLE) if gpu.capability < BLACKWELL else (PORTABLE,)
