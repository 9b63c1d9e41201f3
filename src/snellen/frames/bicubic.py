"""Bicubic enlargement of a plane by an integer factor s.

Keys' cubic convolution with a = −0.5, like MATLAB's imresize of 2014: the vertical pass comes
first, and indices beyond the edge are clamped to it. Output sample j of an axis lies at input
position j/s + phase/s − phase. Phase 0.5 (the default) aligns the edges of both pictures. For a
chroma axis the phase is the siting (`snellen.frames.frame.Format.siting`): with 0.25, left-sited
chroma stays left-sited.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled
from snellen.frames.arrays import pitch
from snellen.frames.frame import Plane
from snellen.frames.quantise import quantise
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel

A = -0.5  # Keys' parameter a; Keys 1981, MATLAB imresize 'bicubic'
TAPS = 4  # input samples that contribute to an output sample, per axis
BLOCK = (32, 8)  # threads (x, y) of a block of the kernel; each thread has one input sample

Float32 = npt.NDArray[np.float32]


def cubic(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return Keys' cubic convolution kernel at distances `x`, support [−2, 2]."""
    x = np.abs(x)
    near = ((A + 2) * x - (A + 3)) * x * x + 1
    far = ((A * x - 5 * A) * x + 8 * A) * x - 4 * A
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


@lru_cache(maxsize=64)
def phases(scale: int, phase: float) -> tuple[npt.NDArray[np.int64], Float32]:
    """Return the taps and weights of the output samples of one input cell, along one axis.

    The first tap (scale,) int64 of output sample j is relative to input sample j // s, by j % s.
    The weights (scale, 4) float32 of four taps sum to 1 within rounding.
    """
    position = np.arange(scale) / scale + (phase / scale - phase)
    first = np.floor(position).astype(np.int64) - 1
    taps = first[:, None] + np.arange(TAPS)
    return first, cubic(position[:, None] - taps).astype(np.float32)


def constants(scale: int, phase: tuple[float, float]) -> dict[str, Any]:
    """Return the macros of `bicubic.cuh`: the scale, and taps and weights across and down."""
    macros: dict[str, Any] = {"scale": scale}
    for name, axis_phase in zip(("across", "down"), phase, strict=True):
        first, weights = phases(scale, axis_phase)
        rows = ("{" + ",".join(f"{w!r}f" for w in row) + "}" for row in weights.tolist())
        macros[f"{name}_first"] = "{" + ",".join(map(str, first)) + "}"
        macros[f"{name}_weights"] = "{" + ",".join(rows) + "}"
    return macros


def bicubic(
    plane: Plane,
    scale: int,
    out: Plane,
    *,
    phase: tuple[float, float] = (0.5, 0.5),
    origin: tuple[int, int] = (0, 0),
    depth: tuple[float, float] = (1.0, 0.0),
    bits: int = 0,
) -> None:
    """Enlarge a plane, or a part of it, and quantise the result.

    Parameters
    ----------
    plane : (H, W) uint8, uint16 or float32 array
        Of NumPy; or of CuPy with contiguous rows.
    scale : int
        Enlargement, 1 or more.
    out : (h, w) uint8, uint16 or float32 array
        Of the same library, on the same device. Filled with the part of the enlarged plane whose
        first row and column are `origin`. Any part of it may lie outside of the enlarged plane:
        the edge is replicated there.
    phase : (float, float)
        Siting (across, down), see the module.
    depth, bits
        See `quantise`. By default `out` is float32.
    """
    if not isinstance(plane, np.ndarray):
        _launch(plane, scale, out, phase, origin, depth, bits)
        return
    height, width = out.shape
    first, weights = phases(scale, phase[1])
    # The rows of the plane that are taps, as float32; `above` of them are not there.
    above = origin[0] // scale + int(first[0])
    top = min(max(above, 0), len(plane) - 1)
    bottom = (origin[0] + height - 1) // scale + int(first[-1]) + TAPS
    taps = np.ascontiguousarray(plane[top : max(bottom, top + 1)], np.float32)
    down = np.empty((height, plane.shape[1]), np.float32)
    _down(taps, scale, first, weights, origin[0] - top * scale, down)
    direct = not bits and out.flags.c_contiguous
    enlarged = out if direct else np.empty(out.shape, np.float32)
    first, weights = phases(scale, phase[0])
    left = origin[1] // scale
    near = np.empty((origin[1] + width - 1) // scale - left + TAPS + 1, np.float32)
    _across(down, scale, first, weights, origin[1], near, enlarged)
    if not direct:
        quantise(enlarged, depth, bits, out)


@lru_cache(maxsize=64)
def kernel(scale: int, phase: tuple[float, float], sample: str, target: str) -> Kernel:
    """Return the kernel, not yet compiled, by the names of the dtypes of `plane` and `out`."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "bicubic", sample=C_TYPES[sample],
        target=C_TYPES[target], **constants(scale, phase),
    )  # fmt: skip


def _launch(
    plane: Any,
    scale: int,
    out: Any,
    phase: tuple[float, float],
    origin: tuple[int, int],
    depth: tuple[float, float],
    bits: int,
) -> None:
    """Launch the kernel on the current stream; parameters as of `bicubic`."""
    (height, width), (rows, columns) = plane.shape, out.shape
    # `out` starts in input cell (top, left), after `above` rows and `before` columns of that cell.
    (top, above), (left, before) = (divmod(first, scale) for first in origin)
    cells = (-(-(before + columns) // scale), -(-(above + rows) // scale))
    grid = tuple(-(-count // size) for count, size in zip(cells, BLOCK, strict=True))
    kernel(scale, phase, plane.dtype.name, out.dtype.name)(
        grid, BLOCK, plane, pitch(plane), width, height, out, pitch(out), columns, rows, top, left,
        above, before, *depth, float((1 << bits) - 1),
    )  # fmt: skip


@compiled
def _down(plane, scale, first, weights, origin, out):  # type: ignore[no-untyped-def]
    """Enlarge vertically: output rows from row `origin` on, all input columns."""
    last = plane.shape[0] - 1
    for i in range(out.shape[0]):
        k = (origin + i) % scale
        base = (origin + i) // scale + first[k]
        a = plane[min(max(base, 0), last)]
        b = plane[min(max(base + 1, 0), last)]
        c = plane[min(max(base + 2, 0), last)]
        d = plane[min(max(base + 3, 0), last)]
        t, u, v, w = weights[k, 0], weights[k, 1], weights[k, 2], weights[k, 3]
        row = out[i]
        for j in range(out.shape[1]):
            row[j] = t * a[j] + u * b[j] + v * c[j] + w * d[j]


@compiled
def _across(rows, scale, first, weights, origin, near, out):  # type: ignore[no-untyped-def]
    """Enlarge horizontally: output columns from column `origin` on."""
    # `near` is scratch for the input samples of all taps, from two before the first cell on, with
    # replicated edges.
    last, left, count = rows.shape[1] - 1, origin // scale, near.shape[0]
    inside = min(max(2 - left, 0), count)
    beyond = max(min(last + 3 - left, count), inside)
    for i in range(out.shape[0]):
        row, target = rows[i], out[i]
        for n in range(inside):
            near[n] = row[0]
        inner, source = near[inside:], row[left + inside - 2 :]
        for n in range(beyond - inside):
            inner[n] = source[n]
        for n in range(beyond, count):
            near[n] = row[last]
        for k in range(scale):
            start = (k - origin) % scale
            base = (origin + start) // scale - left + first[k] + 2
            a, b, c, d = near[base:], near[base + 1 :], near[base + 2 :], near[base + 3 :]
            t, u, v, w = weights[k, 0], weights[k, 1], weights[k, 2], weights[k, 3]
            phase = target[start::scale]
            for n in range(len(phase)):  # indexes views from 0: the compiler vectorises this
                phase[n] = t * a[n] + u * b[n] + v * c[n] + w * d[n]
