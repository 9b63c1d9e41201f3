"""Step 5a of A+ on the GPU: the anchor of each feature, equal to float32 arithmetic's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.layout import LANES, SLAB, by_lane, pad, padded
from snellen.aplus.model import Model
from snellen.device import arch, multiprocessors
from snellen.kernel import ARCHES, Kernel

CHUNK_BYTES = 1 << 16  # of half-precision anchors in shared memory: what every GPU has
SCALE = 16384.0  # of half-precision anchors, so that none that counts is subnormal
SUBNORMAL = 2.0**-14  # below it a half is subnormal; tensor cores may take it for zero
LARGEST = 4 * SLAB  # dimensions that fit a warp's registers as half-precision fragments
SETTLED, SETTLE_THREADS, SETTLE_ANCHORS = 8, 256, 128
FILE = Path(__file__).with_suffix(".cu")
SETTLE = FILE.with_name("settle.cu")

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Shape:
    """How a block of the match kernel works."""

    warpgroup: bool
    """Whether four warps multiply together (wgmma of sm_90a) or each for itself (mma.sync)."""
    tiles: int
    """Times 16 features that a warp holds."""
    joined: int
    """Tiles of eight anchors between two updates of the best; a group is 2·joined anchors."""
    warps: int
    staged: bool = False
    """Whether features are brought to shared memory ahead."""

    @property
    def step(self) -> int:
        """Return the anchors that are scored before any is compared."""
        return 128 if self.warpgroup else 8 * self.joined


def shape(dims: int, arch: str) -> Shape:
    """Return the shape that measured best: what a thread's registers hold."""
    if arch == "sm_90" and dims <= 2 * SLAB:
        return Shape(True, tiles=1, joined=2, warps=16, staged=True)
    return Shape(False, tiles=2 if dims == SLAB else 1, joined=2, warps=28 if dims == SLAB else 16)


class Match:
    """The anchors of a model on the current GPU."""

    def __init__(self, model: Model):
        import cupy

        anchors = pad(model.anchors, 1, padded(model.anchors.shape[1]))
        count, self.dims = anchors.shape
        self.settle = settle_kernel(model)
        self.table = cupy.asarray(
            np.ascontiguousarray(pad(anchors, 0, -(-count // SETTLE_ANCHORS) * SETTLE_ANCHORS).T)
        )
        self.multiprocessors = multiprocessors()
        self.shape = shape(self.dims, arch())
        self.match = match_kernel(model, self.shape) if self.dims <= LARGEST else None
        if self.match:
            anchors = pad(anchors, 0, -(-count // self.shape.step) * self.shape.step)
            halves, self.error = half(pairs(anchors))
            self.anchors = cupy.asarray(anchors)
            self.halves = cupy.asarray(fragments(halves, self.shape))
            self.shared = shared(self.dims, len(anchors), self.shape)

    def __call__(self, features: Any, index: Any, listed: Any, work: Any) -> None:
        """Choose the anchor of each feature; of equal scores, the lower index.

        Parameters
        ----------
        features : (n, DIMS) float32, see `layout`
        index : (n,) uint16, written
        listed : (1,) int32, becomes the number of features that float32 had to settle
        work : (n,) int32, scratch: which those are
        """
        count = len(features)
        if self.match is None:
            listed.fill(count)
            self._settle(features, count, None, None, index)
            return
        listed.fill(0)
        batch = self.shape.warps * 16 * self.shape.tiles
        blocks = min(-(-count // batch), self.multiprocessors)
        self.match(
            blocks, self.shape.warps * 32, features, count, self.halves, self.anchors, self.error, index,
            listed, work, shared=self.shared,
        )  # fmt: skip
        self._settle(features, count, listed, work, index)

    def _settle(self, features: Any, count: int, listed: Any, work: Any, index: Any) -> None:
        blocks = min(-(-count // SETTLED), 8 * self.multiprocessors)
        self.settle(
            blocks, SETTLE_THREADS, features, count, self.table, self.table.shape[1] // 4, listed,
            work, index, shared=SETTLED * self.dims * 4,
        )  # fmt: skip


def chunk(dims: int, anchors: int) -> int:
    """Return how many anchors lie in shared memory at a time."""
    return min(CHUNK_BYTES // (2 * dims) // 128 * 128, anchors)


def shared(dims: int, anchors: int, shape: Shape) -> int:
    """Return the bytes of shared memory of a block."""
    features = 2 * shape.warps * 16 * shape.tiles * dims * 4 if shape.staged else 0
    return chunk(dims, anchors) * dims * 2 + features


def match_kernel(model: Model, shape: Shape) -> Kernel:
    """Return the kernel that scores on tensor cores, not compiled yet."""
    dims = padded(model.anchors.shape[1])
    anchors = -(-len(model.anchors) // shape.step) * shape.step
    return Kernel(
        FILE, "match", arches=("sm_90a",) if shape.warpgroup else ARCHES, dims=dims,
        anchors=anchors, chunk=chunk(dims, anchors), warpgroup=shape.warpgroup, tiles=shape.tiles,
        joined=shape.joined, warps=shape.warps, staged=shape.staged,
    )  # fmt: skip


def settle_kernel(model: Model) -> Kernel:
    """Return the kernel that scores in float32, not compiled yet."""
    return Kernel(SETTLE, "settle", dims=padded(model.anchors.shape[1]))


def pairs(anchors: Float32) -> npt.NDArray[np.float64]:
    """Return half the sum and half the difference of each two anchors, in their places.

    For their scores u and v, |u| + |v| is the greater of the two anchors' absolute scores: an
    addition instead of a maximum, which runs on another and wider unit.
    """
    even, odd = anchors[::2].astype(np.float64), anchors[1::2].astype(np.float64)
    return np.stack([(even + odd) / 2, (even - odd) / 2], axis=1).reshape(anchors.shape)


def half(paired: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float16], float]:
    """Return pairs · SCALE in half precision, and how far from its anchor the worst one is.

    The sum and the difference of a rounded pair are the anchors that are really scored.
    """
    scaled = paired * SCALE
    halves = scaled.astype(np.float16)
    halves[np.abs(halves) < SUBNORMAL] = 0
    lost = halves.astype(np.float64) - scaled
    error = max(np.linalg.norm(lost[::2] + sign * lost[1::2], axis=1).max() for sign in (1, -1))
    return halves, float(error) / SCALE * (1 + 1e-6)


def fragments(halves: npt.NDArray[np.float16], shape: Shape) -> npt.NDArray[np.float16]:
    """Return half-precision anchors (k, DIMS) as the kernel's right operands, tile by tile.

    Column 2t + b of the j-th of a step's `joined` tiles is anchor (2·joined)t + 2j + b of the step,
    so the anchors whose scores one lane sees follow each other. mma.sync: the 16 bytes of a lane
    follow each other. wgmma: core matrices of eight anchors × four lanes' pairs of dimensions.
    """
    slabs = halves.shape[1] // SLAB
    steps = by_lane(halves).reshape(-1, LANES, shape.joined, 2, slabs, LANES, 4, 2)
    # (step, t of the column, j, b, slab, lane, pair, 2)
    order = (0, 2, 4, 6, 1, 3, 5, 7) if shape.warpgroup else (0, 2, 4, 1, 3, 5, 6, 7)
    return np.ascontiguousarray(steps.transpose(order))
