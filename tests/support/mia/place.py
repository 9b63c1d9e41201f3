"""Where a restored picture lies: blurs that have a middle, scenes that they blur, distances."""

from __future__ import annotations

import numpy as np
from scipy import ndimage, signal

from support.mia import drawn, reference

DISTANCE = np.arange(-7, 8)
BLURS = {
    "Gauss": np.exp(-np.add.outer(DISTANCE**2, DISTANCE**2) / 8),
    "disc": np.clip(3.5 - np.hypot.outer(DISTANCE, DISTANCE), 0, 1),
    "line": np.diag((np.abs(DISTANCE) < 5).astype(float)),
}
LOPSIDED = ndimage.shift(reference.bell(2, 15), (0.4, -0.3), order=1)
"""A start of plain MIA, 15 × 15: it restores pictures beside their place, unless they are moved."""


def distance(one, other):
    """How far the second picture lies down and to the right of the first, by its phase."""
    rows, columns = one.shape
    down, right = np.meshgrid(np.fft.fftfreq(rows), np.fft.fftfreq(columns), indexing="ij")
    low = (np.hypot(down, right) < 0.06) & (np.hypot(down, right) > 0)
    window = np.outer(np.hanning(rows), np.hanning(columns))
    one, other = (np.fft.fft2((p.astype(float) - p.mean()) * window)[low] for p in (one, other))
    weight = abs(one * other) ** 0.5
    slopes = 2 * np.pi * np.stack([down[low], right[low]], -1) * weight[:, None]
    phase = np.angle(one * other.conj()) * weight
    return np.linalg.lstsq(slopes, phase, rcond=None)[0]


def given(random, blur, shape=(128, 128)):
    """A blurred scene of sharp edges, in 8 bits, with little noise; and what it was."""
    sharp = drawn.scene(random, tuple(size + 40 for size in shape))
    blurred = signal.fftconvolve(sharp, blur / blur.sum(), "same")[20:-20, 20:-20]
    noisy = (blurred + random.normal(0, 0.003, shape)).clip(0, 1)
    return np.rint(noisy * 255).astype(np.uint8), sharp[20:-20, 20:-20]
