"""Random models of format 2, and pictures in which orientations tie."""

from __future__ import annotations

from functools import cache

import numpy as np

from snellen.aplus.model import Model
from snellen.aplus.symmetry import adapted


@cache
def oriented_model(scale, window=3, anchors=12, classes=3, seed=0):
    """Random, but shaped and scaled like a learnt one; its basis has all kinds of coordinates."""
    random = np.random.default_rng([scale, window, anchors, classes, seed])
    patch = (window * scale) ** 2
    windows = random.normal(size=(4 * patch, 2))
    basis, _ = adapted(windows @ windows.T, 0.95)
    dims = basis.shape[1]
    directions = random.normal(size=(anchors, dims))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    projections = random.normal(size=(anchors * classes, patch, dims)) * 0.3 / np.sqrt(dims)
    strengths = np.sort(random.uniform(0.1, 0.6, classes - 1)).astype(np.float32)
    return Model(
        scale, window, directions.astype(np.float32), basis, projections.astype(np.float16), {},
        strengths,
    )  # fmt: skip


def tied_pictures(random, bits, size=12):
    """Pictures of integers in which many windows are as symmetric as their names say."""
    white = (1 << bits) - 1
    y, x = np.mgrid[:size, :size]
    ramp = random.integers(0, white + 1, size)
    corner = random.integers(0, white + 1, (size, size))
    pictures = {
        "flat": np.full((size, size), white // 3),
        "across": np.broadcast_to(ramp, (size, size)),
        "diagonal": ramp[np.abs(x - y)],
        "both": ramp[np.minimum(np.abs(2 * x - size) + np.abs(2 * y - size), size - 1)],
        "board": (x // 2 + y // 2) % 2 * white,
        "saddle": np.where((x < size // 2) == (y < size // 2), white, 0),
        "point": np.where((x == 5) & (y == 5), white, 7),
        "mirrored": corner + corner[:, ::-1] >> 1,
        "few": random.integers(0, 3, (size, size)) * (white // 255),
    }
    dtype = np.uint8 if bits == 8 else np.uint16
    return {name: np.array(p, dtype, order="C") for name, p in pictures.items()}
