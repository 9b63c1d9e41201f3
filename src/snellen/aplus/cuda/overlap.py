"""Steps 1, 6 and 7 of A+ on the GPU: low frequency plus the mean of the patches, quantised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.aplus.cuda.regress import cell, row
from snellen.aplus.model import Model
from snellen.frames.arrays import pitch
from snellen.frames.bicubic import constants
from snellen.frames.frame import Format
from snellen.frames.quantise import recode
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel

SPILLS = 8  # bytes that a thread may spill which turns patches back, of nine samples a cell
BLOCK = (32, 8)  # threads (x, y) of a block; each has one low-resolution pixel


class Overlap:
    """Steps 1, 6 and 7 for planes of one format."""

    def __init__(self, model: Model, source: Format, target: Format):
        self.kernel = kernel(model, source, target)
        self.depth = recode(source, target, chroma=False)
        self.white = float((1 << target.bits) - 1)

    def __call__(
        self,
        patches: Any,
        first_patch: int,
        plane: Any,
        first: int,
        last: int,
        out: Any,
        turns: Any = None,
    ) -> None:
        """Compute the output of low-resolution rows first … last − 1.

        Parameters
        ----------
        patches : (rows, W, ROW) float32
            Patches of the windows centred on low-resolution rows from `first_patch` on.
        first_patch : int
        plane : (H, W)
            Low-resolution picture.
        first, last : int
        out : (s·(last − first), s·W) uint8, uint16 or float32
            Output; rows may have a pitch.
        turns : (rows, W) uint8, optional
            For a model of format 2: turns of the patches, see orientation.cuh.
        """
        height, width = plane.shape
        grid = (-(-width // BLOCK[0]), -(-(last - first) // BLOCK[1]))
        self.kernel(
            grid, BLOCK, patches, first_patch, plane, pitch(plane), width, height, first, last,
            out, pitch(out), *self.depth, self.white, turns,
        )  # fmt: skip


def kernel(model: Model, source: Format, target: Format) -> Kernel:
    """Return the kernel, not yet compiled."""
    oriented = model.strengths is not None
    return Kernel(
        Path(__file__).with_suffix(".cu"), "overlap", spills=SPILLS * oriented,
        window=model.window, cell=cell(model.scale), row=row(model), across=BLOCK[0],
        down=BLOCK[1], sample=C_TYPES[source.dtype.name], target=C_TYPES[target.dtype.name],
        oriented=oriented, **constants(model.scale, (0.5, 0.5)),
    )  # fmt: skip
