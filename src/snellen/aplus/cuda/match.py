"""Step 5a of A+ on the GPU: the anchor of each feature, the same as in float32 arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.layout import LANES, SLAB, by_lane, pad, padded
from snellen.aplus.model import Model
from snellen.frames.arrays import upload
from snellen.gpu.device import multiprocessors
from snellen.gpu.kernel import Kernel
from snellen.gpu.profile import stage

JOINED = 4  # tiles of eight anchors between two updates of the best; a group is as many anchors
STEP = 8 * JOINED
WARPS = 24
CHUNK_BYTES = 1 << 16  # of half-precision anchors in shared memory: what every GPU has
SCALE = 16.0  # of half-precision anchors, so that none that counts is subnormal
SUBNORMAL = 2.0**-14  # below it a half is subnormal; tensor cores may take it for zero
# The bound of docs/aplus.md; two in a thousand more, since anchors have a norm of 1 within 10⁻³.
MORE = 1.002
HALF = 2.0**-11 * MORE  # error of a number in half precision
UNIT = 2.0**-10 * MORE  # of a sum in half precision: a unit in the last place
ROUNDING = 2.0**-21 * MORE  # of float32, and of tensor cores below that unit, for each dimension
LARGEST = 4 * SLAB  # dimensions that fit a warp's registers as half-precision fragments
SETTLED, SETTLE_THREADS, SETTLE_ANCHORS = 8, 256, 128
FILE = Path(__file__).with_suffix(".cu")
SETTLE = FILE.with_name("settle.cu")

Float32 = npt.NDArray[np.float32]


class Match:
    """The anchors of a model on the current GPU."""

    def __init__(self, model: Model):
        anchors = pad(model.anchors, 1, padded(model.anchors.shape[1]))
        count, self.dims = anchors.shape
        self.settle = settle_kernel(model)
        self.table = upload(
            np.ascontiguousarray(pad(anchors, 0, -(-count // SETTLE_ANCHORS) * SETTLE_ANCHORS).T)
        )
        self.multiprocessors = multiprocessors()
        self.match = match_kernel(model) if self.dims <= LARGEST else None
        if self.match:
            anchors = np.ascontiguousarray(pad(anchors, 0, _padded(count)))
            halves, self.error = half(anchors)
            self.anchors = upload(anchors)
            self.halves = upload(fragments(halves))
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
        with stage("settle"):
            self.settle(
                blocks, SETTLE_THREADS, features, count, self.table, self.table.shape[1] // 4,
                listed, work, index, shared=SETTLED * self.dims * 4,
            )  # fmt: skip


def tiles(dims: int) -> int:
    """Return the number of tiles of 16 features that fit a warp's registers."""
    return 2 if dims == SLAB else 1


def chunk(dims: int, anchors: int) -> int:
    """Return how many anchors are in shared memory at a time."""
    return min(CHUNK_BYTES // (2 * dims) // STEP * STEP, anchors)


def match_kernel(model: Model) -> Kernel:
    """Return the kernel that scores on tensor cores, not yet compiled."""
    dims, anchors = padded(model.anchors.shape[1]), _padded(len(model.anchors))
    return Kernel(
        FILE, "match", spills=32, dims=dims, anchors=anchors, chunk=chunk(dims, anchors),
        tiles=tiles(dims), joined=JOINED, warps=WARPS, anchor_scale=SCALE, half=HALF, unit=UNIT,
        rounding=ROUNDING * dims, smallest=SUBNORMAL * MORE,
    )  # fmt: skip


def settle_kernel(model: Model) -> Kernel:
    """Return the kernel that scores in float32, not yet compiled."""
    return Kernel(SETTLE, "settle", dims=padded(model.anchors.shape[1]))


def half(anchors: Float32) -> tuple[npt.NDArray[np.float16], float]:
    """Return anchors · SCALE in half precision, and the worst norm of rounding errors / SCALE."""
    scaled = anchors.astype(np.float64) * SCALE
    halves = scaled.astype(np.float16)
    halves[np.abs(halves) < SUBNORMAL] = 0
    error = np.linalg.norm(halves.astype(np.float64) - scaled, axis=1).max() / SCALE
    return halves, float(error) * (1 + 1e-6)


def fragments(halves: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """Return half-precision anchors (k, DIMS) as the kernel's right operands, 16 bytes a lane.

    Column n of the j-th of a step's JOINED tiles is anchor JOINED·n + j of the step, so a group's
    anchors follow each other.
    """
    steps = by_lane(halves).reshape(-1, 8, JOINED, halves.shape[1] // SLAB, LANES, 8)
    # (step, column, j, slab, lane, 8) → (step, j, slab, column, lane, 8)
    return np.ascontiguousarray(steps.transpose(0, 2, 3, 1, 4, 5))


def _padded(anchors: int) -> int:
    return -(-anchors // STEP) * STEP
