"""Training data of A+: raw windows, features and high-resolution patches of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS, differences
from snellen.aplus.features import collect, margin
from snellen.cpu.pool import Pool
from snellen.errors import InputError
from snellen.frames.bicubic import bicubic
from snellen_lab.protocol import crop, resized, shrink

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

EPS = 2.2e-16  # added to a feature's norm before a division by it; Timofte et al. 2014
MIN_NORM = 0.1  # a patch is divided by its feature's norm only from this on; Timofte et al. 2014
STRIDE = 2  # low-resolution pixels from a window of the dictionary to the next: 1 of 3 overlaps


@dataclass(frozen=True, eq=False)
class Samples:
    """Pairs of low- and high-resolution data from which projections are learnt."""

    features: Float32
    """Features of the windows: (n, d) float32, unit norm, or 0 for a window without detail."""
    patches: Float32
    """Original − low frequency of the same windows: (n, (w·s)²) float32, column by column, divided
    by the norms by which the features were divided."""


def grid(shape: tuple[int, int], scale: int, window: int, factor: float = 1.0) -> tuple[int, int]:
    """Return the number of rows and columns of windows that are taken from an image.

    Every low-resolution pixel is the centre of a window. As in the authors' code, windows within
    one low-resolution pixel of the edge are skipped.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image in pixels.
    scale, window : int
        Magnification, and side of a window in low-resolution pixels.
    factor : float
        Factor by which the image is shrunk first.

    Returns
    -------
    rows, columns : int
        Both 0 if there is no window.
    """
    low = (resized(side, factor) // scale - 2 * margin(window) for side in shape)
    rows, columns = (max(0, side) for side in low)
    return (rows, columns) if rows and columns else (0, 0)


def degrade(plane: Float32, scale: int) -> tuple[Float32, Float32]:
    """Return the cropped image, and its low frequency: it shrunk and enlarged by bicubic."""
    truth = crop(plane, scale)
    mid = np.empty_like(truth)
    bicubic(shrink(truth, 1 / scale), scale, mid)
    return truth, mid


def raw_windows(mid: Float32, scale: int, window: int, centred: bool = False) -> Float32:
    """Return the four difference images under each window of an image, (4·(w·s)², r, n) float32.

    Parameters
    ----------
    mid : (H, W) float32
        Low frequency of the image, as `degrade` returns it.
    scale, window : int
        See `grid`, which returns r and n.
    centred : bool
        See `differences.differences`.
    """
    shape = grid((mid.shape[0], mid.shape[1]), scale, window)
    raw = np.empty((FILTERS * (window * scale) ** 2, *shape), np.float32)
    rows, columns = mid.shape[0] - 2 * scale, mid.shape[1] // scale - 2
    planes = np.empty((FILTERS, scale, max(0, rows), max(0, columns)), np.float32)
    differences(mid, scale, centred, planes)
    collect(planes, window, 0, 0, raw)
    return raw


def patches(detail: Float32, scale: int, window: int) -> Float32:
    """Return the windows of original − low frequency, (r·n, (w·s)²) float32, column by column.

    Parameters
    ----------
    detail : (H, W) float32
        Original − low frequency of an image.
    scale, window : int
        See `grid`, which returns r and n.
    """
    side = window * scale
    rows, columns = grid((detail.shape[0], detail.shape[1]), scale, window)
    every = np.lib.stride_tricks.sliding_window_view(detail, (side, side))
    selected = every[scale::scale, scale::scale][:rows, :columns]
    return np.ascontiguousarray(selected.transpose(0, 1, 3, 2)).reshape(rows * columns, side * side)


def dictionary_windows(images: Sequence[Float32], scale: int, window: int) -> Float32:
    """Return raw windows of the full-size images, from which PCA and dictionary are learnt.

    Returns
    -------
    (n, 4·(w·s)²) float32
    """
    found = []
    for image in images:
        raw = raw_windows(degrade(image, scale)[1], scale, window)[:, ::STRIDE, ::STRIDE]
        found.append(raw.reshape(len(raw), -1).T)
    return np.concatenate(found)


def principal(windows: Float32, energy: float) -> tuple[Float32, float]:
    """Return the uncentred PCA that retains at least a given share of the windows' energy.

    Parameters
    ----------
    windows : (n, 4·(w·s)²) float32
        Raw windows, as `dictionary_windows` returns them.
    energy : float
        Share to retain, 0 … 1.

    Returns
    -------
    basis : (4·(w·s)², d) float32
        Orthonormal columns, the strongest first; the largest element of each is positive.
    retained : float
        Share of the energy that the d dimensions retain.

    Raises
    ------
    InputError
        All windows are 0.
    """
    total = np.zeros((windows.shape[1], windows.shape[1]))
    for start in range(0, len(windows), 1 << 14):
        part = windows[start : start + (1 << 14)].astype(np.float64)
        total += part.T @ part
    values, vectors = np.linalg.eigh(total)
    values, vectors = values[::-1].clip(0), vectors[:, ::-1]
    if not values.any():
        raise InputError("the training images are flat", advice="give images with some detail")
    shares = np.cumsum(values) / values.sum()
    dims = min(int(np.searchsorted(shares, energy)) + 1, len(values))
    basis = vectors[:, :dims]
    peak = np.abs(basis).argmax(axis=0)
    basis = basis * np.sign(basis[peak, np.arange(dims)])
    return np.ascontiguousarray(basis, np.float32), float(shares[dims - 1])


def pyramid(
    images: Sequence[Float32],
    scale: int,
    window: int,
    basis: Float32,
    *,
    factors: Sequence[float],
    most: int,
    pool: Pool,
    progress: Callable[[float], None] = lambda done: None,
) -> Samples:
    """Collect samples from all images at one size after another, until there are `most`.

    Parameters
    ----------
    images : sequence of (H, W) float32
        Luma in 0 … 1. Each image at each size is cropped to a multiple of `scale`.
    scale, window : int
        See `grid`.
    basis : (4·(w·s)², d) float32
        PCA basis.
    factors : sequence of float
        Sizes of the pyramid, relative to the image.
    most : int
        Greatest number of samples.
    pool : Pool
        Threads, each of which takes an image at a time.
    progress : callable, optional
        Called with the share that is done, 0 … 1.
    """
    tasks = [(image, factor) for factor in factors for image in images]
    counts = [np.prod(grid(image.shape, scale, window, factor)) for image, factor in tasks]
    starts = [0, *accumulate(int(count) for count in counts)]
    n = min(most, starts[-1])
    features = np.empty((n, basis.shape[1]), np.float32)
    highs = np.empty((n, (window * scale) ** 2), np.float32)

    def collect_from(task: tuple[tuple[Float32, float], int]) -> int:
        (image, factor), start = task
        truth, mid = degrade(shrink(image, factor), scale)
        raw = raw_windows(mid, scale, window)
        low = raw.reshape(len(raw), -1).T @ basis
        high = patches(truth - mid, scale, window)
        end = min(n, start + len(low))
        unit(low[: end - start], high[: end - start], features[start:end], highs[start:end])
        return end

    wanted = [
        (task, s) for task, s, e in zip(tasks, starts, starts[1:], strict=False) if s < n and e > s
    ]
    for end in pool.map(collect_from, wanted):
        progress(end / n)
    return Samples(features, highs)


def unit(low: Float32, high: Float32, feature: Float32, patch: Float32) -> None:
    """Divide features and patches by the features' norms.

    Parameters
    ----------
    low : (n, d) float32
        Features.
    high : (n, (w·s)²) float32
        Patches.
    feature, patch
        Output, shaped like `low` and `high`. A patch whose feature is weaker than `MIN_NORM` is
        copied.
    """
    norm = np.linalg.norm(low.astype(np.float64), axis=1, keepdims=True)
    feature[:] = low / (norm + EPS)
    patch[:] = high / np.where(norm < MIN_NORM, 1, norm)
