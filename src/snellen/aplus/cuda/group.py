"""Between match and regress on the GPU: patches sorted by anchor, in tiles of sixteen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.gpu.kernel import Kernel

TILE = 16  # patches of one anchor that `regress` computes together
THREADS, SHARE = 1024, 8  # threads of a block, and patches of each
MOST = 16384  # greatest number of anchors; their counts fit a block's shared memory on any GPU
NAMES = ("count", "place", "scatter")


class Group:
    """A counting sort of patches by anchor, on the current GPU."""

    def __init__(self, anchors: int):
        import cupy

        self.anchors = anchors
        self.count, self.place, self.scatter = kernels(anchors)
        self.counts = cupy.zeros(anchors, cupy.int32)
        self.next = cupy.empty(anchors, cupy.int32)

    def __call__(self, index: Any, order: Any, tiles: Any) -> None:
        """Sort patches by anchor.

        Parameters
        ----------
        index : (n,) uint16
            Anchor of each patch.
        order : (capacity(n, anchors),) int32
            Output: numbers of the patches. Those of an anchor start at a multiple of TILE and are
            padded with −1.
        tiles : (1,) int32
            Output: number of tiles.
        """
        self.counts.fill(0)
        blocks, shared = -(-index.size // (THREADS * SHARE)), 4 * self.anchors
        self.count(blocks, THREADS, index, index.size, self.counts, shared=shared)
        self.place(1, THREADS, self.counts, self.next, order, tiles)
        self.scatter(blocks, THREADS, index, index.size, self.next, order, shared=shared)


def capacity(patches: int, anchors: int) -> int:
    """Return the length of `order` that suffices for any distribution of the patches."""
    return (patches // TILE + min(anchors, patches)) * TILE + TILE


def kernels(anchors: int) -> list[Kernel]:
    """Return the three kernels, not yet compiled."""
    file = Path(__file__).with_suffix(".cu")
    return [Kernel(file, name, anchors=anchors) for name in NAMES]
