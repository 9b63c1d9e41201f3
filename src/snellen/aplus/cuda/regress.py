"""Step 5b of A+ on the GPU: each patch is its anchor's projection matrix times its feature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.layout import SLAB, by_lane, pad, padded
from snellen.aplus.model import Model
from snellen.frames.arrays import upload
from snellen.gpu.kernel import Kernel

WARPS, BUNCH = 4, 4  # warps of a block, and tiles of 16 patches that each processes in turn
VECTOR = 4  # floats of a 16-byte vector
SPILLS = {True: 80, False: 512}  # bytes that a thread may spill, with models like ours and others


class Regress:
    """The projections of a model on the current GPU."""

    def __init__(self, model: Model):
        self.kernel = kernel(model)
        self.projections = upload(rows(model))

    def __call__(self, features: Any, index: Any, order: Any, tiles: Any, out: Any) -> None:
        """Multiply each feature by the matrix of its anchor.

        Parameters
        ----------
        features : (n, DIMS) float32
            See `layout`.
        index : (n,) uint16
            Anchor of each feature.
        order, tiles
            As `group.Group` computes them.
        out : (n, ROW) float32
            Output: patches, see `cell` and `row`.
        """
        self.kernel(
            -(-order.size // (16 * WARPS * BUNCH)), WARPS * 32, features, index, order, tiles,
            self.projections, out,
        )  # fmt: skip


def cell(scale: int) -> int:
    """Return the samples of a low-resolution cell of a patch in memory: s², padded to vectors."""
    return -(-(scale**2) // VECTOR) * VECTOR


def row(model: Model) -> int:
    """Return the samples of a patch in memory: w² cells, padded to 32-byte sectors."""
    return -(-(model.window**2) * cell(model.scale) // 8) * 8


def kernel(model: Model) -> Kernel:
    """Return the kernel, not yet compiled."""
    half = model.projections.dtype == np.float16
    spills = SPILLS[half and model.basis.shape[1] <= SLAB]
    return Kernel(
        Path(__file__).with_suffix(".cu"), "regress", spills=spills, row=row(model),
        dims=padded(model.basis.shape[1]), projection="uint16_t" if half else "float",
    )  # fmt: skip


def rows(model: Model) -> npt.NDArray[np.floating]:
    """Return projections as the kernel reads them: (k, ROW, DIMS), a patch cell by cell."""
    s, w = model.scale, model.window
    count, _, dims = model.projections.shape
    # The model has a patch column by column: (cell across, x, cell down, y) → (cell down, cell
    # across, y, x).
    transposed = model.projections.reshape(count, w, s, w, s, dims).transpose(0, 3, 1, 4, 2, 5)
    cells = pad(transposed.reshape(count, w * w, s * s, dims), 2, cell(s))
    padded_rows = pad(cells.reshape(count, -1, dims), 1, row(model))
    return np.ascontiguousarray(by_lane(pad(padded_rows, 2, padded(dims))))
