"""Pictures to learn from, made here."""

from __future__ import annotations

import numpy as np


def drawing(seed, shape=(52, 60)):
    """Discs of random grey, smoothed by drawing them four times as large: edges to learn."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[: 4 * shape[0], : 4 * shape[1]] / 4
    plane = np.full(y.shape, 0.5)
    for _ in range(40):
        inside = (y - random.uniform(0, shape[0])) ** 2 + (x - random.uniform(0, shape[1])) ** 2
        plane[inside < random.uniform(2, 14) ** 2] = random.uniform(0.1, 0.9)
    small = plane.reshape(shape[0], 4, shape[1], 4).mean((1, 3))
    return (np.floor(small * 255 + 0.5) / 255).astype(np.float32)
