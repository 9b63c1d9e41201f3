"""Problems for tests of MIA: pictures that are drawn, PSFs that are walked, noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from snellen.frames.frame import Format
from support.mia import reference

PHOTONS = 1000  # of white: the Poisson noise of a picture of 0 … 1
SIGMA = 0.02  # of Gaussian noise


class Problem(NamedTuple):
    """What a backend is started with, and the truth."""

    y: np.ndarray
    """(M, H, W), −1 in the margin."""
    f: np.ndarray
    """(H, W), the start."""
    h: np.ndarray
    """(M, H, W), the start; where the blur is given, the truth."""
    sharp: np.ndarray
    """(H, W)."""
    blurs: np.ndarray
    """(M, H, W)."""


def scene(random, shape):
    """A picture (H, W) of 0.03 … 1: patches with sharp edges before a slope, some texture."""
    down, right = (np.linspace(0, 1, size) for size in shape)
    plane = 0.1 + 0.3 * np.outer(down, right) + 0.05 * np.sin(40 * down[:, None] + 9 * right)
    for _ in range(14):
        corner = [random.integers(0, size) for size in shape]
        size = [random.integers(2, max(3, side // 3)) for side in shape]
        rows, columns = (slice(a, a + b) for a, b in zip(corner, size, strict=True))
        plane[rows, columns] = random.uniform(0.03, 1)
    return (plane + random.normal(0, 0.01, shape)).clip(0.03, 1)


def walk(random, side):
    """The PSF (side, side) of a hand that shook, sum 1."""
    out = np.zeros((side, side))
    step = random.normal(0, 0.3, (300, 2)).cumsum(0)
    step -= step.mean(0)
    step *= (side // 2 - 0.5) / max(np.abs(step).max(), side // 2)
    for down, right in np.rint(step + side // 2).astype(int):
        out[down, right] += 1
    return out / out.sum()


def noisy(random, plane, noise="poisson"):
    """What a camera sees of a plane of 0 … 1, never negative."""
    if noise == "poisson":
        return random.poisson(plane * PHOTONS) / PHOTONS
    return (plane + random.normal(0, SIGMA, plane.shape)).clip(0)


def problem(random, period, frames=1, side=9, *, noise="poisson", margin=(0, 0), given=False):
    """A scene that wraps around its period, blurred by a PSF of its own in each frame.

    Parameters
    ----------
    random : Generator
    period : (H, W)
    frames, side : int
    noise : str
    margin : (int, int)
        Rows at the bottom and columns at the right that nobody observed.
    given : bool
        Whether h starts as the truth; else as the Gaussian.
    """
    sharp = scene(random, period)
    blurs = np.array([reference.on_period(walk(random, side), period) for _ in range(frames)])
    seen = [reference.convolved(sharp, blur).clip(0) for blur in blurs]
    y = np.array([noisy(random, plane, noise) for plane in seen])
    rows, columns = (size - cut for size, cut in zip(period, margin, strict=True))
    inner = y[:, :rows, :columns].mean(0)
    _, f = reference.extended(inner, period)
    y[:, rows:], y[:, :, columns:] = -1, -1
    start = np.array([reference.on_period(reference.bell(2, side), period)] * frames)
    return Problem(y, f, blurs.copy() if given else start, sharp, blurs)


def stars(random, period, frames=1, side=9, *, margin=(0, 0), given=False):
    """Points before a sky that is exactly black: every divisor and correction meets its floor."""
    sharp = np.zeros(period)
    for _ in range(6):
        sharp[tuple(random.integers(0, size) for size in period)] = random.uniform(0.3, 1)
    blurs = np.array([reference.on_period(walk(random, side), period) for _ in range(frames)])
    y = np.array([noisy(random, reference.convolved(sharp, blur).clip(0)) for blur in blurs])
    rows, columns = (size - cut for size, cut in zip(period, margin, strict=True))
    y[:, rows:], y[:, :, columns:] = -1, -1
    start = np.array([reference.on_period(reference.bell(2, side), period)] * frames)
    return Problem(y, np.full(period, 0.5), blurs.copy() if given else start, sharp, blurs)


def plain(random, period, frames=1, side=9):
    """Random numbers, which no PSF blurred."""
    y = random.random((frames, *period))
    h = np.array([reference.on_period(reference.bell(2, side), period)] * frames)
    return Problem(y, y.mean(0), h, y.mean(0), h)


def psnr(one, other):
    """In dB, of pictures of 0 … 1."""
    return -10 * np.log10(np.mean((one - other) ** 2))


def floats(shape, white=None):
    """Return the format of float planes (rows, columns)."""
    return Format(shape[1], shape[0], 0, white=white)
