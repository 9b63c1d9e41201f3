"""The seven steps of A+ in plain NumPy: vectorised, in strips so that memory suffices, no tricks.

The picture's outermost pixels stay those of the bicubic, as in the authors' code; `bordered` has
ours. Float32 pictures are computed in float32, float64 ones in float64.

With models of format 2, raw windows and patches are turned themselves, for each orientation that a
window may have.
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


ALONG, ACROSS = (-5, -6, 0, 6, 5), (1, 9, 10, 9, 1)
"""Weights of the samples along a gradient and across it, by which windows are turned."""
ORIENTATIONS = 8
"""Bit by bit: 1, flipped across; 2, flipped down; 4, transposed then."""


def upscale(low: Floats, model: Model, white: float = 1) -> Floats:
    """Enlarge a plane (H, W) of floats up to `white`."""
    s, w = model.scale, model.window
    mid = bicubic(low, s)
    oriented = model.strengths is not None
    planes = _differences(mid, s, centred=oriented)
    total, count = np.zeros_like(mid), np.zeros_like(mid)
    projections = model.projections.astype(low.dtype)
    meant = _orientations(low)[:, 1 + w // 2 :, 1 + w // 2 : -1 - w // 2] if oriented else None
    for first in range(1, low.shape[0] - w, ROWS):
        last = min(first + ROWS, low.shape[0] - w)
        raw = _collect(planes, first, last, s, w)
        if meant is None:
            features = raw @ model.basis
            index = np.abs(features @ model.anchors.T).argmax(axis=1)
            patches = np.matmul(projections[index], features[:, :, None])[:, :, 0]
        else:
            turns = meant[:, first - 1 : last - 1].reshape(ORIENTATIONS, -1)
            patches = _oriented(raw, turns, projections, model, white)
        _spread(patches.reshape(last - first, -1, (w * s) ** 2), mid, first, s, w, total, count)
    return np.where(count > 0, total / np.maximum(count, 1), mid)


def _orientations(low: Floats) -> npt.NDArray[np.bool_]:
    """Return which orientations the window around each pixel has (8, H, W): all that tie."""
    around = np.lib.stride_tricks.sliding_window_view(
        np.pad(low.astype(np.float64), 2, mode="edge"), (5, 5)
    )
    across = np.einsum("hwij,i,j->hw", around, ACROSS, ALONG)
    down = np.einsum("hwij,i,j->hw", around, ALONG, ACROSS)
    more = np.abs(across) - np.abs(down)
    return np.stack([
        (across * (-1 if g & 1 else 1) >= 0) & (down * (-1 if g & 2 else 1) >= 0)
        & (more * (-1 if g & 4 else 1) >= 0) for g in range(ORIENTATIONS)
    ])  # fmt: skip


def _oriented(
    raw: Floats, turns: npt.NDArray[np.bool_], projections: Floats, model: Model, white: float
) -> Floats:
    """Return patches (n, (w·s)²) of windows (n, 4·(w·s)²) by a model of format 2."""
    assert model.strengths is not None
    side = model.window * model.scale
    shares = (turns / turns.sum(axis=0)).astype(raw.dtype)[:, :, None]
    features = np.zeros((len(raw), model.basis.shape[1]), raw.dtype)
    windows = raw.reshape(len(raw), 4, side, side)  # by filter, column and row
    for g, one in enumerate(turns):
        some = windows[one]
        if g & 1:
            some = some[:, :, ::-1] * np.array([-1, 1, 1, 1], raw.dtype)[:, None, None]
        if g & 2:
            some = some[:, :, :, ::-1] * np.array([1, -1, 1, 1], raw.dtype)[:, None, None]
        if g & 4:
            some = some.swapaxes(2, 3)[:, [1, 0, 3, 2]]
        features[one] += shares[g, one] * (some.reshape(len(some), -1) @ model.basis)
    index = np.abs(features @ model.anchors.T).argmax(axis=1)
    norms = np.sqrt(np.square(features).sum(axis=1))
    classes = (norms[:, None] >= model.strengths * white).sum(axis=1)
    cells = index * (len(model.strengths) + 1) + classes
    found = np.matmul(projections[cells], features[:, :, None]).reshape(-1, side, side)
    patches = np.zeros_like(found)
    for g, one in enumerate(turns):
        some = found[one]
        some = some.swapaxes(1, 2) if g & 4 else some
        some = some[:, :, ::-1] if g & 2 else some
        some = some[:, ::-1] if g & 1 else some
        patches[one] += shares[g, one][:, :, None] * some
    flat: Floats = patches.reshape(len(raw), -1)
    return flat


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


def _differences(mid: Floats, s: int, centred: bool = False) -> list[Floats]:
    """G, Gᵀ, L, Lᵀ; rolled, since the picture's edge is never read."""
    ahead, behind = (s + 1) // 2, s // 2
    first = [np.roll(mid, -ahead, axis) - np.roll(mid, behind, axis) for axis in (1, 0)]
    if centred:  # which it is but at ×3: the mean of both places there
        other = [np.roll(mid, -behind, axis) - np.roll(mid, ahead, axis) for axis in (1, 0)]
        first = [(one + two) / 2 for one, two in zip(first, other, strict=True)]
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


def bordered(
    low: npt.NDArray[np.generic], model: Model, white: float = 1
) -> npt.NDArray[np.float64]:
    """Enlarge a plane up to `white` in float64, with our method's border; nothing is rounded.

    The windows of the authors do not reach the outermost pixels. Ours does: its edge is repeated.
    """
    s, extra = model.scale, model.window // 2 + 1
    exact = low.astype(np.float64)
    wide = upscale(np.pad(exact, extra, mode="edge"), model, white)
    out = wide[extra * s : -extra * s, extra * s : -extra * s]
    out[s:-s, s:-s] = upscale(exact, model, white)[s:-s, s:-s]
    return np.asarray(out, np.float64)
