"""Step 5b of A+ on the GPU: the high-resolution patch, the anchor's projection of the feature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.layout import SLAB, by_lane, pad, padded
from snellen.aplus.model import Model
from snellen.gpu.kernel import Kernel

WARPS, BUNCH = 4, 4  # tiles of sixteen that a warp takes one after another
VECTOR = 4  # floats
SPILLS = {True: 80, False: 512}  # bytes that a thread may spill: models like ours, others


class Regress:
    """The projections of a model on the current GPU."""

    def __init__(self, model: Model):
        import cupy

        self.kernel = kernel(model)
        self.projections = cupy.asarray(rows(model))

    def __call__(self, features: Any, index: Any, order: Any, tiles: Any, out: Any) -> None:
        """Project each feature with the matrix of its anchor.

        Parameters
        ----------
        features : (n, DIMS) float32, see `layout`
        index : (n,) uint16, anchors
        order, tiles : as `group.Group` leaves them
        out : (n, ROW) float32, patches: see `cell` and `row`
        """
        self.kernel(
            -(-order.size // (16 * WARPS * BUNCH)), WARPS * 32, features, index, order, tiles,
            self.projections, out,
        )  # fmt: skip


def cell(scale: int) -> int:
    """Return the samples kept for a low-resolution cell of a patch: s², in whole vectors."""
    return -(-(scale**2) // VECTOR) * VECTOR


def row(model: Model) -> int:
    """Return the samples kept for a patch: w² cells, in whole 32-byte sectors."""
    return -(-(model.window**2) * cell(model.scale) // 8) * 8


def kernel(model: Model) -> Kernel:
    """Return the kernel, not compiled yet."""
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
    # A patch lies column by column: (cell across, x, cell down, y) → (cell down, cell across, y, x)
    turned = model.projections.reshape(count, w, s, w, s, dims).transpose(0, 3, 1, 4, 2, 5)
    cells = pad(turned.reshape(count, w * w, s * s, dims), 2, cell(s))
    whole = pad(cells.reshape(count, -1, dims), 1, row(model))
    return np.ascontiguousarray(by_lane(pad(whole, 2, padded(dims))))
