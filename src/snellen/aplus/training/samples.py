"""What A+ learns from: raw windows, features and high-resolution patches of training images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS, differences
from snellen.aplus.features import collect, margin
from snellen.aplus.training.protocol import crop, resized, shrink
from snellen.errors import InputError
from snellen.frames.bicubic import bicubic

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

EPS = 2.2e-16  # added to a feature's norm before division: Timofte et al. 2014
FAINT = 0.1  # a patch whose feature has a smaller norm is not divided by it: Timofte et al. 2014
APART = 2  # low-resolution pixels between the dictionary's windows: overlap 1 of 3 pixels


@dataclass(frozen=True, eq=False)
class Samples:
    """Pairs from which projections are learnt."""

    features: Float32
    """(n, d) float32, unit norm (0 where nothing but 0 was seen)."""
    patches: Float32
    """(n, (w·s)²) float32: original − mid, column by column, divided as the features were."""


def grid(shape: tuple[int, int], scale: int, window: int, factor: float = 1.0) -> tuple[int, int]:
    """Return rows and columns of windows that the authors take from an image.

    Every low-resolution pixel has a window, but windows within one pixel of the edge are left out.
    """
    low = (resized(side, factor) // scale - 2 * margin(window) for side in shape)
    rows, columns = (max(0, side) for side in low)
    return (rows, columns) if rows and columns else (0, 0)


def degrade(plane: Float32, scale: int) -> tuple[Float32, Float32]:
    """Return the image cropped and the same made from its low resolution by bicubic."""
    truth = crop(plane, scale)
    mid = np.empty_like(truth)
    bicubic(shrink(truth, 1 / scale), scale, mid)
    return truth, mid


def raw_windows(mid: Float32, scale: int, window: int) -> Float32:
    """Return the four differences under each window of an image, (4·(w·s)², r, n) float32."""
    shape = grid((mid.shape[0], mid.shape[1]), scale, window)
    raw = np.empty((FILTERS * (window * scale) ** 2, *shape), np.float32)
    rows, columns = mid.shape[0] - 2 * scale, mid.shape[1] // scale - 2
    planes = np.empty((FILTERS, scale, max(0, rows), max(0, columns)), np.float32)
    differences(mid, scale, planes)
    collect(planes, window, 0, 0, raw)
    return raw


def patches(rest: Float32, scale: int, window: int) -> Float32:
    """Return the windows of original − mid, (r·n, (w·s)²) float32, column by column."""
    side = window * scale
    rows, columns = grid((rest.shape[0], rest.shape[1]), scale, window)
    every = np.lib.stride_tricks.sliding_window_view(rest, (side, side))
    ours = every[scale::scale, scale::scale][:rows, :columns]
    return np.ascontiguousarray(ours.transpose(0, 1, 3, 2)).reshape(rows * columns, side * side)


def dictionary_windows(images: Sequence[Float32], scale: int, window: int) -> Float32:
    """Return the raw windows of the full-size images, (n, 4·(w·s)²) float32."""
    found = []
    for image in images:
        raw = raw_windows(degrade(image, scale)[1], scale, window)[:, ::APART, ::APART]
        found.append(raw.reshape(len(raw), -1).T)
    return np.concatenate(found)


def principal(windows: Float32, energy: float) -> tuple[Float32, float]:
    """Return the uncentred PCA that keeps at least this share of the windows' energy.

    Returns
    -------
    basis : (4·(w·s)², d) float32, orthonormal, strongest first, largest element positive
    kept : share of the energy

    Raises
    ------
    InputError
        Nothing but zeros came.
    """
    total = np.zeros((windows.shape[1], windows.shape[1]))
    for start in range(0, len(windows), 1 << 14):
        some = windows[start : start + (1 << 14)].astype(np.float64)
        total += some.T @ some
    values, vectors = np.linalg.eigh(total)
    values, vectors = values[::-1].clip(0), vectors[:, ::-1]
    if not values.any():
        raise InputError("the training images are flat; give images with some detail")
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
    pool: ThreadPoolExecutor,
    progress: Callable[[float], None] = lambda done: None,
) -> Samples:
    """Collect samples from all images at one size after another, until there are `most`.

    Each image at each size is float and cropped to a multiple of `scale`.
    """
    jobs = [(image, factor) for factor in factors for image in images]
    counts = [np.prod(grid(image.shape, scale, window, factor)) for image, factor in jobs]
    starts = [0, *accumulate(int(count) for count in counts)]
    n = min(most, starts[-1])
    features = np.empty((n, basis.shape[1]), np.float32)
    highs = np.empty((n, (window * scale) ** 2), np.float32)

    def one(job: tuple[tuple[Float32, float], int]) -> int:
        (image, factor), start = job
        truth, mid = degrade(shrink(image, factor), scale)
        raw = raw_windows(mid, scale, window)
        low = raw.reshape(len(raw), -1).T @ basis
        high = patches(truth - mid, scale, window)
        end = min(n, start + len(low))
        unit(low[: end - start], high[: end - start], features[start:end], highs[start:end])
        return end

    wanted = [
        (job, s) for job, s, e in zip(jobs, starts, starts[1:], strict=False) if s < n and e > s
    ]
    for end in pool.map(one, wanted):
        progress(end / n)
    return Samples(features, highs)


def unit(low: Float32, high: Float32, feature: Float32, patch: Float32) -> None:
    """Divide features and patches by the features' norms, into `feature` and `patch`."""
    norm = np.linalg.norm(low.astype(np.float64), axis=1, keepdims=True)
    feature[:] = low / (norm + EPS)
    patch[:] = high / np.where(norm < FAINT, 1, norm)
