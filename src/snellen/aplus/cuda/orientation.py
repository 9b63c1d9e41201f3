"""Orientation on the GPU: what each window is turned into, and its class of strength."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus import orientation
from snellen.aplus.cuda.layout import LANES, SLAB, by_lane, pad, padded
from snellen.aplus.model import Model
from snellen.aplus.symmetry import kinds
from snellen.frames.arrays import pitch, upload
from snellen.frames.frame import Format
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel

BLOCK = (32, 8)  # threads (x, y) of a block; each has one window
THREADS = 256
KIND_BITS = 4


class Orientation:
    """The orientations and classes of strength of a model, for planes of one format."""

    def __init__(self, model: Model, source: Format):
        self.turns, self.cells = kernels(model, source)
        self.edges = upload(pad(orientation.edges(model, source), 0, max(1, model.classes - 1)))

    def __call__(self, plane: Any, first: int, rows: int, out: Any) -> None:
        """Find the turns of windows.

        Parameters
        ----------
        plane : (H, W) uint8, uint16 or float32
            Low-resolution picture; rows may have a pitch.
        first, rows : int
            First row of windows, and their number.
        out : (rows, W) uint8
            Output: turns, see orientation.cuh.
        """
        height, width = plane.shape
        grid = (-(-width // BLOCK[0]), -(-rows // BLOCK[1]))
        self.turns(grid, BLOCK, plane, pitch(plane), width, height, first, rows, out)

    def divide(self, norms: Any, index: Any, turns: Any) -> None:
        """Replace the anchor of each feature by the number of its projection.

        Parameters
        ----------
        norms : (slabs, n) float32
            Squared norms of the features' slabs.
        index : (n,) uint16
            Anchors, overwritten.
        turns : (n,) uint8
            A feature that is 0 loses its ties.
        """
        blocks = -(-index.size // THREADS)
        self.cells(blocks, THREADS, index.size, norms, self.edges, index, turns)


def kernels(model: Model, source: Format) -> list[Kernel]:
    """Return the two kernels, not yet compiled."""
    return [
        Kernel(
            Path(__file__).with_suffix(".cu"), name, across=BLOCK[0], down=BLOCK[1],
            sample=C_TYPES[source.dtype.name], slabs=padded(model.basis.shape[1]) // SLAB,
            classes=model.classes, near=orientation.NEAR, far=orientation.FAR,
            centre=orientation.CENTRE, beside=orientation.BESIDE, end=orientation.END,
        )
        for name in ("turns", "cells")
    ]  # fmt: skip


def packed_kinds(model: Model) -> npt.NDArray[np.uint32]:
    """Return the kinds of the eight dimensions of each lane and slab, KIND_BITS each."""
    every = by_lane(pad(kinds(model.basis), 0, padded(model.basis.shape[1])).astype(np.uint32))
    shifts = KIND_BITS * np.arange(SLAB // LANES, dtype=np.uint32)
    words: npt.NDArray[np.uint32] = (every.reshape(-1, SLAB // LANES) << shifts).sum(
        axis=1, dtype=np.uint32
    )
    return words
