"""A+ in plain NumPy float64, from the paper and the published code's behaviour; no code of ours.

A model is anything with scale, window, anchors (k, d), basis (4·(w·s)², d) and projections
(k, (w·s)², d).
"""

from __future__ import annotations

from math import floor

import numpy as np
from scipy.signal import convolve2d

A = -0.5  # Keys' cubic, MATLAB imresize 'bicubic'
UNIT = 2.0**-24  # rounding unit of float32


def cubic(x):
    x = abs(x)
    if x <= 1:
        return (A + 2) * x**3 - (A + 3) * x**2 + 1
    if x < 2:
        return A * x**3 - 5 * A * x**2 + 8 * A * x - 4 * A
    return 0.0


def resampling(length, scale, count=None, phase=0.5, origin=0):
    """Matrix (count, length) that enlarges one axis; edges clamped."""
    count = length * scale if count is None else count
    matrix = np.zeros((count, length))
    for j in range(count):
        position = (origin + j + phase) / scale - phase
        nearest = floor(position)
        for tap in range(nearest - 2, nearest + 4):
            matrix[j, min(max(tap, 0), length - 1)] += cubic(position - tap)
    return matrix


def bicubic(plane, scale, shape=(None, None), phase=(0.5, 0.5), origin=(0, 0)):
    """Enlarge a plane; phase is (across, down), origin (row, column)."""
    plane = np.asarray(plane, np.float64)
    down = resampling(plane.shape[0], scale, shape[0], phase[1], origin[0])
    across = resampling(plane.shape[1], scale, shape[1], phase[0], origin[1])
    return down @ plane @ across.T


def same(plane, kernel):
    """MATLAB's conv2(plane, kernel, 'same'): SciPy cuts kernels of even length elsewhere."""
    full = convolve2d(plane, kernel)
    top, left = kernel.shape[0] // 2, kernel.shape[1] // 2
    return full[top : top + plane.shape[0], left : left + plane.shape[1]]


def differences(mid, scale):
    zeros = [0.0] * (scale - 1)
    gradient = np.array([[1.0, *zeros, -1.0]])
    laplacian = np.array([[1.0, *zeros, -2.0, *zeros, 1.0]]) / 2
    return [same(mid, f) for f in (gradient, gradient.T, laplacian, laplacian.T)]


def corners(size, scale, window):
    """First pixels of the authors' windows along an axis of `size` output pixels."""
    return range(scale, size - window * scale - scale + 1, scale)


def raw_feature(planes, i, j, side):
    windows = [plane[i : i + side, j : j + side] for plane in planes]
    return np.concatenate([window.ravel(order="F") for window in windows])


def rounding(size, white):
    """Bound of the float32 error of a feature's norm, `size` differences of values up to white.

    mid is off by up to 4e-7·white (two passes of four products), a difference of two or three such
    by 1e-6·white at worst; orthonormal columns do not enlarge the norm of that error; the products
    with them add a few units of the feature's norm, which the caller accounts for.
    """
    return 1e-6 * white * np.sqrt(size)


def best(feature, model, error):
    """Anchor by the greatest |inner product|, and whether rounding could make it another."""
    scores = np.abs(model.anchors.astype(np.float64) @ feature)
    index = int(scores.argmax())
    norm = np.linalg.norm(feature)
    # A zero feature (1e-12: float64 rounding of a flat picture) has a zero patch for any anchor.
    if len(scores) == 1 or norm < 1e-9 * error:
        return index, False
    gap = scores[index] - np.delete(scores, index).max()
    # A tie of anchors that are one and the same in the model is no question: the lower index.
    return index, gap <= 2 * (error + (len(feature) + 4) * UNIT * norm)


def windows_of(plane, model, white):
    """Sum of the windows, how many cover each pixel, and where one may take another anchor."""
    s, w = model.scale, model.window
    side = w * s
    mid = bicubic(plane, s)
    planes = differences(mid, s)
    basis = model.basis.astype(np.float64)
    total, count, unsure = np.zeros_like(mid), np.zeros(mid.shape, int), np.zeros(mid.shape, bool)
    for i in corners(mid.shape[0], s, w):
        for j in corners(mid.shape[1], s, w):
            feature = basis.T @ raw_feature(planes, i, j, side)
            index, tie = best(feature, model, rounding(len(basis), white))
            high = model.projections[index].astype(np.float64) @ feature
            place = np.s_[i : i + side, j : j + side]
            total[place] += mid[place] + high.reshape(side, side, order="F")
            count[place] += 1
            unsure[place] |= tie
    return total, count, unsure


def upscale(plane, model, white=1.0):
    """Return the enlarged plane and the mask of the pixels that a tie may change."""
    plane = np.asarray(plane, np.float64)
    s, extra = model.scale, model.window // 2 + 1
    total, count, unsure = windows_of(plane, model, white)
    inside = np.zeros(total.shape, bool)
    if count.any():
        inside[s:-s, s:-s] = True
        assert (count[inside] > 0).all()
    wide, wide_count, wide_unsure = (
        image[extra * s : -extra * s, extra * s : -extra * s]
        for image in windows_of(np.pad(plane, extra, mode="edge"), model, white)
    )
    out = np.where(inside, total / np.maximum(count, 1), wide / wide_count)
    return out, np.where(inside, unsure, wide_unsure)


def overlap(patches, mid, scale, window):
    """mid plus the mean of patches (H, (w·s)², W) of every centre; borders as in overlap.py."""
    height, _, width = patches.shape
    half, side = window // 2, window * scale
    authors = set()
    for r in range(half + 1, height - half - 1):
        for c in range(half + 1, width - half - 1):
            authors.add((r, c))
    out = np.array(mid, np.float64)
    for i, j in np.ndindex(out.shape):
        ring = min(i, j, height * scale - 1 - i, width * scale - 1 - j) < scale
        values = []
        for r in range(height):
            for c in range(width):
                y, x = i - (r - half) * scale, j - (c - half) * scale
                counts = ring or not authors or (r, c) in authors
                if counts and 0 <= y < side and 0 <= x < side:
                    values.append(float(patches[r, x * side + y, c]))
        out[i, j] += np.mean(values)
    return out
