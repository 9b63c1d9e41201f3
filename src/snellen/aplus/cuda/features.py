"""Steps 1 to 4 of A+ on the GPU: low-resolution picture → features, one for each of its pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.cuda.filters import compose, side
from snellen.aplus.cuda.layout import LANE_DIMS, SLAB, pad, padded
from snellen.aplus.cuda.orientation import packed_kinds
from snellen.aplus.model import Model
from snellen.frames.arrays import pitch, upload
from snellen.frames.frame import Format
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel

TILE = 32  # windows across, and down, that a block computes
THREADS = 256  # of a block
SPILLS = 128  # bytes that a thread may spill; float samples, in two parts each, need them
EXACT = 11  # bits of an integer that half precision represents exactly
SCALE = 1024.0  # factor of filters in half precision

Float32 = npt.NDArray[np.float32]


class Features:
    """The filter bank of a model for planes of one format, on the current GPU."""

    def __init__(self, model: Model, format: Format):
        self.kernel = kernel(model, format)
        make = pairs if paired(format) else fragments
        self.filters = upload(make(compose(model)))
        self.kinds = None if model.strengths is None else upload(packed_kinds(model))
        self.slabs = padded(model.basis.shape[1]) // SLAB
        size = side(model.window)
        pitch = (TILE + size - 1 + 7) // 16 * 16 + 8
        self.shared = self.filters[0].nbytes + 2 * 4 * (TILE + size - 1) * pitch

    def __call__(
        self, plane: Any, first: int, rows: int, out: Any, turns: Any = None, norms: Any = None
    ) -> None:
        """Compute the features of all windows centred on rows first … first + rows − 1.

        Parameters
        ----------
        plane : (H, W) uint8, uint16 or float32
            Low-resolution picture; rows may have a pitch.
        first, rows : int
            First row of windows, and their number.
        out : (rows, W, DIMS) float32
            Output: features, see `layout`.
        turns : (rows, W) uint8, optional
            For a model of format 2: turns of the windows, see orientation.cuh.
        norms : (slabs, rows, W) float32, optional
            Output for a model of format 2: squared norms of the features' slabs.
        """
        height, width = plane.shape
        down = (first + rows - 1) // TILE - first // TILE + 1
        grid = (-(-width // TILE), down, self.slabs)
        self.kernel(
            grid, THREADS, plane, pitch(plane), width, height, first, rows, self.filters, out,
            turns, self.kinds, norms, shared=self.shared,
        )  # fmt: skip


def paired(format: Format) -> bool:
    """Return whether samples are exact in half precision, so that a word holds two."""
    return 0 < format.bits <= EXACT


def kernel(model: Model, format: Format) -> Kernel:
    """Return the kernel, not yet compiled."""
    pair = paired(format)
    return Kernel(
        Path(__file__).with_suffix(".cu"), "features", spills=SPILLS, side=side(model.window),
        dims=padded(model.basis.shape[1]), sample=C_TYPES[format.dtype.name], paired=pair,
        scale=SCALE if pair else 1.0, oriented=model.strengths is not None,
    )  # fmt: skip


def pairs(filters: npt.NDArray[np.float64]) -> npt.NDArray[np.float16]:
    """Return filters (side, side, d) as the kernel's right operands for words of two samples.

    Returns
    -------
    (slabs, products, 4 tiles of dimensions, 32 lanes, 2 parts, 2 words, 2) float16
        Weights of each lane's two words, times SCALE: the high parts, then the low parts.
    """
    lines = pad(filters, 0, len(filters) + len(filters) % 2)
    words = lines.reshape(-1, 2, *filters.shape[1:]).transpose(0, 2, 3, 1)  # (line, column, d, 2)
    weights = _operands(words) * SCALE
    high = weights.astype(np.float16)
    low = (weights - high).astype(np.float16)
    both = np.stack([high, low], axis=-3)
    return np.ascontiguousarray(both.reshape(*both.shape[:3], 32, 2, 2, 2))


def fragments(filters: npt.NDArray[np.float64]) -> Float32:
    """Return filters (side, side, d) as the kernel's right operands.

    Returns
    -------
    (slabs, products, 4 tiles of dimensions, 32 lanes, 4) float32
        Weights of each lane's two pixels: both high TF32 parts, then both low parts.
    """
    weights = _operands(filters[..., None])[..., 0]
    high = tf32(weights)
    both = np.stack([high, tf32(weights - high)], axis=-2)  # (…, part, near or far)
    return np.ascontiguousarray(both.reshape(*both.shape[:3], 32, 4), np.float32)


def _operands(words: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return words (lines, columns, d, n) by (slab, product, tile, column, t, near or far, n)."""
    groups = pad(_groups(words), 2, padded(words.shape[2]))  # (groups, 4, DIMS, n)
    groups = pad(groups, 0, len(groups) + len(groups) % 2)
    # Column 2t + b of tile j is dimension 2(j % 2) + b of lane t's four near (j < 2) or far ones.
    columns = LANE_DIMS.reshape(4, 4, 2).transpose(1, 0, 2).reshape(4, 8)  # (tile j, column)
    slabs = groups.reshape(-1, 2, 4, groups.shape[2] // SLAB, SLAB, words.shape[3])
    # (product, near or far, t, slab, tile, column, n)
    return slabs[..., columns, :].transpose(3, 0, 4, 5, 2, 1, 6)


def tf32(values: npt.NDArray[np.float64]) -> Float32:
    """Round to TF32, which has 11 significant bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def _groups(words: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return words by groups of four, as `place` in the kernel orders them."""
    lines, columns = words.shape[:2]
    across = columns // 4 * 4
    horizontal = words[:, :across].reshape(-1, 4, *words.shape[2:])
    down = pad(words[:, across:], 0, -(-lines // 4) * 4)
    vertical = down.swapaxes(0, 1).reshape(-1, 4, *words.shape[2:])
    return np.concatenate([horizontal, vertical])
