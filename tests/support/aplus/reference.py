"""A+ in plain NumPy float64, from the paper and the published code's behaviour; no code of ours.

A model is anything with scale, window, anchors (k, d), basis (4·(w·s)², d) and projections
(k, (w·s)², d). If it has strengths (c,), it is of format 2: projections (k·(c + 1), (w·s)², d).
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


def differences(mid, scale, centred=False):
    zeros = [0.0] * (scale - 1)
    gradient = np.array([[1.0, *zeros, -1.0]])
    if centred and scale == 3:
        gradient = np.array([[0.5, 0.5, 0, -0.5, -0.5]])
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


def turn_picture(picture, g):
    """Flip across if g & 1, then down if g & 2, then transpose if g & 4."""
    picture = picture[:, ::-1] if g & 1 else picture
    picture = picture[::-1] if g & 2 else picture
    return picture.T if g & 4 else picture


def turn_picture_back(picture, g):
    picture = picture.T if g & 4 else picture
    picture = picture[::-1] if g & 2 else picture
    return picture[:, ::-1] if g & 1 else picture


def turn_window(raw, side, g):
    """The raw feature that the window has in the picture turned by g."""
    across, down, twice_across, twice_down = raw.reshape(4, side, side).transpose(0, 2, 1)
    if g & 1:
        across = -across
    if g & 2:
        down = -down
    windows = [across, down, twice_across, twice_down]
    if g & 4:
        windows = [down, across, twice_down, twice_across]
    return np.concatenate([turn_picture(window, g).ravel(order="F") for window in windows])


def orientations(plane, row, column):
    """All g in which the window is brighter to the right, and at least as much as downwards."""
    around = np.pad(plane, 2, mode="edge")[row : row + 5, column : column + 5]
    along, beside = np.array([-5, -6, 0, 6, 5]), np.array([1, 9, 10, 9, 1])
    found = []
    for g in range(8):
        picture = turn_picture(around, g)
        across, down = beside @ picture @ along, along @ picture @ beside
        if across >= down >= 0:
            found.append(g)
    return found


def oriented_patch(raw, turns, model, error):
    """Patch of a window of format 2, and whether rounding could give another projection."""
    side = model.scale * model.window
    basis = model.basis.astype(np.float64)
    feature = np.mean([basis.T @ turn_window(raw, side, g) for g in turns], axis=0)
    index, tie = best(feature, model, error)
    norm = np.linalg.norm(feature)
    near = np.abs(model.strengths - norm) <= error + (len(feature) + 4) * UNIT * norm
    cell = index * (len(model.strengths) + 1) + int((norm >= model.strengths).sum())
    high = (model.projections[cell].astype(np.float64) @ feature).reshape(side, side, order="F")
    return np.mean([turn_picture_back(high, g) for g in turns], axis=0), tie or near.any()


def windows_of(plane, model, white):
    """Sum of the windows, how many cover each pixel, and where one may take another anchor."""
    s, w = model.scale, model.window
    side = w * s
    mid = bicubic(plane, s)
    oriented = getattr(model, "strengths", None) is not None
    planes = differences(mid, s, oriented)
    basis = model.basis.astype(np.float64)
    total, count, unsure = np.zeros_like(mid), np.zeros(mid.shape, int), np.zeros(mid.shape, bool)
    for i in corners(mid.shape[0], s, w):
        for j in corners(mid.shape[1], s, w):
            raw, error = raw_feature(planes, i, j, side), rounding(len(basis), white)
            if oriented:
                turns = orientations(plane, i // s + w // 2, j // s + w // 2)
                high, tie = oriented_patch(raw, turns, model, error)
            else:
                feature = basis.T @ raw
                index, tie = best(feature, model, error)
                high = model.projections[index].astype(np.float64) @ feature
                high = high.reshape(side, side, order="F")
            place = np.s_[i : i + side, j : j + side]
            total[place] += mid[place] + high
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
