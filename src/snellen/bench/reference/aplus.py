"""The seven steps of A+ in plain NumPy: vectorised, in strips so that memory suffices, no tricks.

The picture's outermost pixels stay those of the bicubic, as in the authors' code; `bordered` has
ours. Float32 pictures are computed in float32, float64 ones in float64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.aplus.model import Model

Floats = npt.NDArray[np.floating]

ROWS = 16
"""Low-resolution rows of a strip."""
TAPS = 4
"""Samples under the cubic kernel."""


def upscale(low: Floats, model: Model) -> Floats:
    """Enlarge a plane (H, W) of floats."""
    s, w = model.scale, model.window
    mid = bicubic(low, s)
    planes = _differences(mid, s)
    total, count = np.zeros_like(mid), np.zeros_like(mid)
    projections = model.projections.astype(low.dtype)
    for first in range(1, low.shape[0] - w, ROWS):
        last = min(first + ROWS, low.shape[0] - w)
        features = _collect(planes, first, last, s, w) @ model.basis
        index = np.abs(features @ model.anchors.T).argmax(axis=1)
        patches = np.matmul(projections[index], features[:, :, None])[:, :, 0]
        _spread(patches.reshape(last - first, -1, (w * s) ** 2), mid, first, s, w, total, count)
    return np.where(count > 0, total / np.maximum(count, 1), mid)


def bicubic(low: Floats, s: int) -> Floats:
    """Enlarge a plane (H, W) by Keys' cubic convolution, in the precision that it has."""
    for _ in range(2):
        large = np.empty((low.shape[0] * s, low.shape[1]), low.dtype)
        for k in range(s):
            position = (k + 0.5) / s - 0.5
            near = int(np.floor(position)) - 1 + np.arange(TAPS)
            weights = _cubic(np.float64(position) - near).astype(low.dtype)
            rows = low[(np.arange(len(low))[:, None] + near).clip(0, len(low) - 1)]
            large[k::s] = np.einsum("t,rtc->rc", weights, rows)
        low = np.ascontiguousarray(large.T)
    return low


def _cubic(x: Floats) -> Floats:
    """Weights of Keys' kernel with a = −0.5 at distances of up to two samples."""
    x = np.abs(x)
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _differences(mid: Floats, s: int) -> list[Floats]:
    """G, Gᵀ, L, Lᵀ; rolled, since the picture's edge is never read."""
    ahead, behind = (s + 1) // 2, s // 2
    first = [np.roll(mid, -ahead, axis) - np.roll(mid, behind, axis) for axis in (1, 0)]
    second = [(np.roll(mid, -s, axis) + np.roll(mid, s, axis)) / 2 - mid for axis in (1, 0)]
    return [*first, *second]


def _collect(planes: list[Floats], first: int, last: int, s: int, w: int) -> Floats:
    """Windows with corners in low-resolution rows first … last−1: (n, 4·(w·s)²)."""
    side = w * s
    windows = [
        np.lib.stride_tricks.sliding_window_view(
            plane[first * s : (last - 1) * s + side, s : plane.shape[1] - s], (side, side)
        )[::s, ::s].swapaxes(2, 3)
        for plane in planes
    ]
    return np.stack(windows, axis=2).reshape(-1, len(planes) * side * side)


def _spread(
    patches: Floats, mid: Floats, first: int, s: int, w: int, total: Floats, count: Floats
) -> None:
    """Add low frequency and high patches under their windows."""
    side = w * s
    rows, columns = patches.shape[:2]
    for x in range(side):
        for y in range(side):
            i, j = first * s + y, s + x
            place = np.s_[i : i + (rows - 1) * s + 1 : s, j : j + (columns - 1) * s + 1 : s]
            total[place] += patches[:, :, x * side + y] + mid[place]
            count[place] += 1


def bordered(low: npt.NDArray[np.generic], model: Model) -> npt.NDArray[np.float64]:
    """Enlarge a plane in float64, with the border of our method; nothing is rounded.

    The windows of the authors do not reach the outermost pixels. Ours does: its edge is repeated.
    """
    s, extra = model.scale, model.window // 2 + 1
    exact = low.astype(np.float64)
    wide = upscale(np.pad(exact, extra, mode="edge"), model)
    out = wide[extra * s : -extra * s, extra * s : -extra * s]
    out[s:-s, s:-s] = upscale(exact, model)[s:-s, s:-s]
    return np.asarray(out, np.float64)
