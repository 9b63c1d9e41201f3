"""Pictures for tests of MAD: drawn, so that every size, depth and oddity can be had."""

from __future__ import annotations

import numpy as np

SIZES = [(34, 34), (35, 34), (34, 35), (37, 52), (61, 40), (64, 48), (70, 131)]
"""The smallest, odd, even, portrait, landscape."""


def scene(random, shape, low=0.0, high=255.0):
    """Grey (M, N) float64: waves, a dark corner, a flat and a white patch, some texture."""
    y, x = (np.linspace(0, 1, size) for size in shape)
    waves = np.sin(7 * x[None, :] + 2 * y[:, None]) + np.cos(9 * y[:, None] * x[None, :])
    plane = 0.6 + 0.15 * waves + random.normal(0, 0.01, shape)
    m, n = shape
    plane[: m // 3, : n // 3] *= 0.1
    plane[14:34, 14:34] = 0.7
    plane[-5:, -5:] = 1.2
    return low + (high - low) * plane.clip(0, 1)


def noisy(random, plane, sigma=12.0):
    """The same with noise in its right part, clipped to 0 … 255."""
    noise = random.normal(0, sigma, plane.shape)
    noise[:, : plane.shape[1] // 4] = 0
    return (plane + noise).clip(0, 255)


def pair(random, shape, sigma=12.0):
    """A scene and its noisy version in 8 bits."""
    plane = scene(random, shape)
    return tuple(np.rint(p).astype(np.uint8) for p in (plane, noisy(random, plane, sigma)))


def nans(*shape, dtype=np.float64):
    """An output that nobody has written yet."""
    return np.full(shape, np.nan, dtype)


def page(random, size, photo, at=(0, 0), white=255):
    """A picture on a plain page, and its noisy version there."""
    planes = np.full((2, *size), white, np.uint8)
    rows, columns = (slice(a, a + n) for a, n in zip(at, photo, strict=True))
    planes[:, rows, columns] = pair(random, photo)
    return planes
