"""Steps 1 to 4 of A+ on the GPU: low-resolution picture → features, one for each of its pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.filters import compose, side
from snellen.aplus.cuda.layout import LANE_DIMS, SLAB, pad, padded
from snellen.aplus.model import Model
from snellen.frame import Format
from snellen.kernel import Kernel
from snellen.samples import C_TYPES

TILE = 32  # windows across and down that a block makes
THREADS = 256
EXACT = 11  # bits of an integer that TF32 holds

Float32 = npt.NDArray[np.float32]


class Features:
    """The filter bank of a model for planes of one format, on the current GPU."""

    def __init__(self, model: Model, format: Format):
        import cupy

        self.kernel = kernel(model, format)
        self.filters = cupy.asarray(fragments(compose(model)))
        self.slabs = padded(model.basis.shape[1]) // SLAB
        size = side(model.window)
        pitch = (TILE + size - 1 + 7) // 16 * 16 + 8
        self.shared = self.filters[0].nbytes + 4 * parts(format) * (TILE + size - 1) * pitch

    def __call__(self, plane: Any, first: int, rows: int, out: Any) -> None:
        """Compute the features of all windows centred on rows first … first + rows − 1.

        Parameters
        ----------
        plane : (H, W) uint8, uint16 or float32, rows may have a pitch
        out : (rows, W, DIMS) float32, see `layout`
        """
        height, width = plane.shape
        grid = (-(-width // TILE), -(-rows // TILE), self.slabs)
        self.kernel(
            grid, THREADS, plane, plane.strides[0] // plane.itemsize, width, height, first, rows,
            self.filters, out, shared=self.shared,
        )  # fmt: skip


def parts(format: Format) -> int:
    """Return how many TF32 parts hold a sample."""
    return 1 if 0 < format.bits <= EXACT else 2


def kernel(model: Model, format: Format) -> Kernel:
    """Return the kernel, not compiled yet."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "features", side=side(model.window),
        dims=padded(model.basis.shape[1]), sample=C_TYPES[format.dtype.name], parts=parts(format),
    )  # fmt: skip


def fragments(filters: npt.NDArray[np.float64]) -> Float32:
    """Return filters (side, side, d) as the kernel's right operands.

    Returns
    -------
    (slabs, products, 4 tiles of dimensions, 32 lanes, 4) float32
        For each lane the weights of its two pixels: both high TF32 parts, then both low ones.
    """
    weights = pad(_pixels(filters), 2, padded(filters.shape[-1]))  # (groups, 4, DIMS)
    weights = pad(weights, 0, len(weights) + len(weights) % 2)
    # Column 2t + b of tile j is dimension 2(j % 2) + b of lane t's four near (j < 2) or far ones.
    columns = LANE_DIMS.reshape(4, 4, 2).transpose(1, 0, 2).reshape(4, 8)  # (tile j, column)
    slabs = weights.reshape(-1, 2, 4, weights.shape[-1] // SLAB, SLAB)[..., columns]
    # (products, near or far, t, slab, j, g) → (slab, products, j, g, t, near or far)
    whole = slabs.transpose(3, 0, 4, 5, 2, 1)
    high = tf32(whole)
    both = np.stack([high, tf32(whole - high)], axis=-2)  # (…, part, near or far)
    return np.ascontiguousarray(both.reshape(*both.shape[:3], 32, 4), np.float32)


def tf32(values: npt.NDArray[np.float64]) -> Float32:
    """Round to TF32, 11 significant bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def _pixels(filters: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the filters by groups of four pixels, as `place` in the kernel orders them."""
    size, _, dims = filters.shape
    across = size // 4 * 4
    horizontal = filters[:, :across].reshape(-1, 4, dims)
    down = pad(filters[:, across:], 0, -(-size // 4) * 4)
    vertical = down.transpose(1, 0, 2).reshape(-1, 4, dims)
    return np.concatenate([horizontal, vertical])
