"""Step 5a of A+ on the GPU: the anchor of each feature, equal to float32 arithmetic's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.layout import LANES, SLAB, by_lane, pad, padded
from snellen.aplus.model import Model
from snellen.device import multiprocessors
from snellen.kernel import Kernel

STEP = 32  # anchors between two updates of the best
CHUNK_BYTES = 1 << 16  # of half-precision anchors in shared memory: what every GPU has
WARPS = 16
SCALE = 16384.0  # of half-precision anchors, so that none that counts is subnormal
SUBNORMAL = 2.0**-14  # below it a half is subnormal; tensor cores may take it for zero
LARGEST = 4 * SLAB  # dimensions that fit a warp's registers as half-precision fragments
SETTLED, SETTLE_THREADS, SETTLE_ANCHORS = 8, 256, 128

Float32 = npt.NDArray[np.float32]


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
        self.match = match_kernel(model) if self.dims <= LARGEST else None
        if self.match:
            anchors = pad(anchors, 0, _padded(count))
            halves, self.error = half(anchors)
            self.anchors, self.halves = cupy.asarray(anchors), cupy.asarray(fragments(halves))
            self.shared = chunk(self.dims, len(anchors)) * self.dims * 2

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
        batch = WARPS * 16 * tiles(self.dims)
        blocks = min(-(-count // batch), self.multiprocessors)
        self.match(
            blocks, WARPS * 32, features, count, self.halves, self.anchors, self.error, index,
            listed, work, shared=self.shared,
        )  # fmt: skip
        self._settle(features, count, listed, work, index)

    def _settle(self, features: Any, count: int, listed: Any, work: Any, index: Any) -> None:
        blocks = min(-(-count // SETTLED), 8 * self.multiprocessors)
        self.settle(
            blocks, SETTLE_THREADS, features, count, self.table, self.table.shape[1] // 4, listed,
            work, index, shared=SETTLED * self.dims * 4,
        )  # fmt: skip


def tiles(dims: int) -> int:
    """Return the tiles of 16 features whose fragments a warp holds: 128 registers a thread."""
    return {SLAB: 4, 2 * SLAB: 2}.get(dims, 1)


def chunk(dims: int, anchors: int) -> int:
    """Return how many anchors lie in shared memory at a time."""
    return min(CHUNK_BYTES // (2 * dims) // STEP * STEP, anchors)


def match_kernel(model: Model) -> Kernel:
    """Return the kernel that scores on tensor cores, not compiled yet."""
    dims, anchors = padded(model.anchors.shape[1]), _padded(len(model.anchors))
    return Kernel(
        Path(__file__).with_suffix(".cu"), "match", spills=64, dims=dims, anchors=anchors,
        chunk=chunk(dims, anchors), tiles=tiles(dims),
    )  # fmt: skip


def settle_kernel(model: Model) -> Kernel:
    """Return the kernel that scores in float32, not compiled yet."""
    dims = padded(model.anchors.shape[1])
    return Kernel(
        Path(__file__).with_suffix(".cu"), "settle", dims=dims, anchors=STEP, chunk=STEP, tiles=1
    )


def half(anchors: Float32) -> tuple[npt.NDArray[np.float16], float]:
    """Return anchors · SCALE in half precision, and the norm of the worst rounding error / SCALE."""
    scaled = anchors.astype(np.float64) * SCALE
    halves = scaled.astype(np.float16)
    halves[np.abs(halves) < SUBNORMAL] = 0
    error = np.linalg.norm(halves.astype(np.float64) - scaled, axis=1).max() / SCALE
    return halves, float(error) * (1 + 1e-6)


def fragments(halves: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """Return half-precision anchors (k, DIMS) as the kernel's right operands, 16 bytes a lane.

    Column 2t + b of the j-th of a step's four tiles is anchor 8t + 2j + b of the step, so the eight
    anchors whose scores one lane sees follow each other.
    """
    steps = by_lane(halves).reshape(-1, LANES, 4, 2, halves.shape[1] // SLAB, LANES, 8)
    # (step, t of the column, j, b, slab, t of the lane, 8) → (step, j, slab, column, lane, 8)
    return np.ascontiguousarray(steps.transpose(0, 2, 4, 1, 3, 5, 6))


def _padded(anchors: int) -> int:
    return -(-anchors // STEP) * STEP
