"""Scales a plane by any factor: Keys' cubic convolution, widened where the plane becomes smaller.

This is what MATLAB's imresize does. Output sample i of an axis lies at input position
begin + (i + phase) · step − phase, in samples of that plane; `step` is input samples for each
output sample. The phase is 0.5 for luma, and the siting for chroma
(`snellen.frames.frame.Format.siting`). Indices beyond the edge are clamped to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.frames.bicubic import cubic
from snellen.frames.frame import Plane
from snellen.frames.quantise import quantise

SUPPORT = 2.0
"""Half of the width of the cubic kernel, in samples."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Axis:
    """Which input samples make the output samples of an axis, and how much of each."""

    first: npt.NDArray[np.int64]
    """First input sample of each output sample; may lie beyond the edge."""
    weights: Float32
    """(output samples, taps); each row sums to 1."""

    @property
    def taps(self) -> int:
        """Input samples of an output sample."""
        return int(self.weights.shape[1])


def axis(count: int, begin: float, step: float, phase: float) -> Axis:
    """Return an axis with `count` output samples; see the module."""
    wide = max(1.0, step)
    position = begin + (np.arange(count) + phase) * step - phase
    first = np.ceil(position - SUPPORT * wide).astype(np.int64)
    taps = int(np.floor(2 * SUPPORT * wide)) + 1
    distance = position[:, None] - (first[:, None] + np.arange(taps))
    weights = cubic(distance / wide)
    weights /= weights.sum(axis=1, keepdims=True)
    return Axis(first, weights.astype(np.float32))


def resample(
    plane: Plane,
    down: Axis,
    across: Axis,
    out: Plane,
    *,
    depth: tuple[float, float] = (1.0, 0.0),
    bits: int = 0,
    first: int = 0,
) -> None:
    """Fill `out` (rows, columns) with rows from `first` on of the scaled plane (H, W).

    Both are uint8, uint16 or float32; `down` and `across` are those of all rows of the result, and
    of its columns. For `depth` and `bits` see `quantise`. By default `out` is float32.
    """
    rows = slice(first, first + len(out))
    starts, weights = down.first[rows], np.ascontiguousarray(down.weights[rows])
    last = len(plane) - 1
    top = min(max(int(starts[0]), 0), last)
    bottom = min(max(int(starts[-1]) + down.taps - 1, top), last)
    taps = np.ascontiguousarray(plane[top : bottom + 1], np.float32)
    near = np.empty(plane.shape[1] + 2 * across.taps, np.float32)
    line = np.empty(plane.shape[1], np.float32)
    scaled = np.empty(out.shape, np.float32)
    _rows(taps, starts - top, weights, across.first, across.weights, line, near, scaled)
    quantise(scaled, depth, bits, out)


@compiled
def _rows(plane, starts, down, lefts, across, line, near, out):  # type: ignore[no-untyped-def]
    """Scale a plane row by row; `line` and `near` are scratch."""
    # `near` is a row with its edges replicated by as many samples as there are taps.
    last, width, taps = plane.shape[0] - 1, plane.shape[1], across.shape[1]
    for i in range(out.shape[0]):
        for j in range(width):
            line[j] = 0
        for t in range(down.shape[1]):
            weight, row = down[i, t], plane[min(max(starts[i] + t, 0), last)]
            for j in range(width):
                line[j] += weight * row[j]
        for j in range(taps):
            near[j] = line[0]
            near[taps + width + j] = line[width - 1]
        for j in range(width):
            near[taps + j] = line[j]
        for j in range(out.shape[1]):
            left = min(max(lefts[j] + taps, 0), taps + width)
            total = np.float32(0)
            for t in range(taps):
                total += across[j, t] * near[left + t]
            out[i, j] = total
