"""prior="auto": whether a picture is blurred, and whether a restoration is better than the picture.

Nothing here knows the sharp picture. Constants are from our experiments with half of the pictures
of benchmarks/blurs.py; the other half, and Levin's, did not take part (lab/mia-l0.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from snellen.cpu import transforms as fft
from snellen.mia.l0.crops import chosen
from snellen.mia.result import IMPLAUSIBLE, RESTORED, SHARP

STEP = 0.48
"""Share of an edge's height between two neighbouring samples, from which on it is sharp. That of an
edge that a Gaussian of σ = 0.8 pixels blurs."""
DENSE, DENSE_STEP = 0.65, 0.75
"""Share of the samples of a direction with a high edge within reach, from which on a picture is
full of strokes: text, maps. A motion moves strokes into the gaps of others, where steep edges are
left, so there an edge is sharp from DENSE_STEP on."""
STEEPEST = 98.0
"""Percentile of these shares that counts. Edges blurred along a line stay sharp along it, so the
least of four directions decides."""
REACH = 4  # samples on each side of an edge, between which its height is measured
HIGH = 0.3  # height of the edges that count, as a share of the picture's range
NOISES = 8.0  # and as a multiple of the noise
QUARTER = 0.3186
"""A quarter of the absolute values of a normal distribution of σ = 1 is less. Beside the median it
takes fewer lines of stripes and of small text for noise."""
FEW = 50  # edges of a direction that say nothing
POINT = 4.0  # samples; a smaller PSF, by its entropy, is none
SLIGHT, DENSE_SLIGHT, SLIGHT_STEP = 15.0, 10.0, 0.43
"""Samples, in pictures full of strokes fewer, and steepness from which on so small a PSF is none,
too: what the search finds of a sharp picture with soft edges, which would become worse by many
decibels."""
NOISY = 0.02
"""Standard deviation of noise, as a share of the picture's range, beyond which a restoration raises
the noise by more than it undoes of the blur."""
STRUCTURE, RINGING = 0.14, 0.25
"""Shares of what a restoration changes, by `doubts`: with one of these, or half of both, it is not
plausible."""

WEIGHTS = ((0.008, 0.001), (0.0095, 0.002), (np.inf, 0.004))
"""Weights of total variation for 200 iterations, each up to a standard deviation of the residual
that the rating of PSFs leaves, as a share of the greatest sample. It is large where the picture is
noisy, and where the PSF is wrong."""

ALIKE, BETTER = 0.65, 0.3
"""Correlation of the best PSF with two others, and difference of its rating to the next one, below
which both the search has found nothing: its starts have ended in different PSFs, of which none is
much better."""

FEWER_EDGES = 3.0  # how much the sparsity of edges counts beside the residual, as powers
QUANTUM = 0.3 / 255  # standard deviation of 8-bit samples from the unrounded ones; white is 1

Float64 = npt.NDArray[np.float64]
Plane = npt.NDArray[Any]
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def before(image: Plane, psf: Float64 | None, side: int) -> str:
    """Return SHARP for a picture (rows, columns) without a blur, else RESTORED: it is to be.

    IMPLAUSIBLE is one with so much noise that it would become worse. `image` is luma, `psf` what
    the search has found (None: it was not asked yet), and `side` that of the PSF.
    """
    parts = [np.asarray(image[part], np.float64) for part in chosen(image, side)]
    if psf is None:
        if image.min() == image.max():
            return SHARP
        steep, dense = steepness(parts)
        if steep >= (DENSE_STEP if dense > DENSE else STEP):
            return SHARP
        return IMPLAUSIBLE if _noise(parts) > NOISY * _span(parts) else RESTORED
    shares = psf[psf > 0] / psf.sum()
    samples = float(np.exp(-(shares * np.log(shares)).sum()))
    steep, dense = steepness(parts)
    is_slight = steep >= SLIGHT_STEP and samples < (DENSE_SLIGHT if dense > DENSE else SLIGHT)
    return SHARP if samples < POINT or is_slight else RESTORED


def after(image: Plane, sharp: Plane, psf: Float64) -> str:
    """Return RESTORED, or IMPLAUSIBLE where the restored picture is hardly better than the input.

    Both are luma (rows, columns). Two things tell. What the model cannot explain of the input by
    the `psf` should be noise, so neighbouring samples of it should have nothing in common. And
    where the PSF is wrong, the restored picture rings beyond the values that are near in the input.
    """
    parts = [
        (np.asarray(image[part], np.float64), np.asarray(sharp[part], np.float64))
        for part in chosen(image, len(psf))
    ]
    structure, ringing = doubts(parts, psf)
    return IMPLAUSIBLE if structure / STRUCTURE + ringing / RINGING > 1 else RESTORED


def rating(parts: list[tuple[Float64, Float64]], psf: Float64, left: float | None = None) -> float:
    """Return how bad a PSF is beside others for the same picture; the least is the best.

    That is the logarithm of the residual's standard deviation and, three times, that of Σ|∇f| /
    √Σ|∇f|² of the restored picture f: what explains the input with few, high edges. A small PSF
    explains any picture, and blurred edges, of which f is then full, are not few; a wrong one makes
    edges that are not there. `left` is the residual, where that is known.
    """
    lengths, energy, samples = 0.0, 0.0, 0
    for _, sharp in parts:
        across, down = np.diff(sharp, axis=1)[:-1], np.diff(sharp, axis=0)[:, :-1]
        lengths += float((np.abs(across) + np.abs(down)).sum())
        energy += float((across * across + down * down).sum())
        samples += across.size
    if not energy:
        return float("inf")
    sparsity = lengths / (energy * samples) ** 0.5
    noise = (residual(parts, psf) if left is None else left) ** 2 + QUANTUM**2
    return float(0.5 * np.log(noise) + FEWER_EDGES * np.log(sparsity))


def agree(psfs: Float64, ratings: list[float]) -> bool:
    """Return whether several starts of a search speak for the PSF with the least rating.

    Or that is so much better than the others that it does not matter. Of fewer than three PSFs
    (N, K, K) nothing is known.
    """
    order = np.argsort(ratings)
    best, *others = (psfs[i] / np.linalg.norm(psfs[i]) for i in order)
    if len(others) < 2 or ratings[order[1]] - ratings[order[0]] >= BETTER:
        return True
    alike = sorted(float(blurred(one, best[::-1, ::-1]).max()) for one in others)
    return alike[-2] >= ALIKE


def residual(parts: list[tuple[Float64, Float64]], psf: Float64) -> float:
    """Return the standard deviation of what a restoration does not explain of the input.

    `parts` are those of a picture before and after, `psf` is the blur.
    """
    inner = slice(len(psf) // 2, -(len(psf) // 2) or None)
    rest = [float((before - blurred(sharp, psf))[inner, inner].var()) for before, sharp in parts]
    return float(np.mean(rest) ** 0.5)


def weight(residual: float) -> float:
    """Return the weight of total variation for a picture that is explained up to this."""
    return float(next(one for most, one in WEIGHTS if residual <= most))


def steepness(parts: list[Float64]) -> tuple[float, float]:
    """Return the share of an edge's height between two samples, for the sharpest edges.

    It is that of the direction in which they are least sharp; 0 where there are hardly any edges.
    The other number is the greatest share of samples of a direction with a high edge around.
    """
    span = _span(parts)
    least = max(HIGH * span, NOISES * _noise(parts))
    if not least:
        return 0.0, 0.0
    found, dense = [], 0.0
    for direction in DIRECTIONS:
        high = [_shares(part, direction, least) for part in parts]
        shares = np.concatenate([own for own, _ in high])
        dense = max(dense, len(shares) / max(1, sum(count for _, count in high)))
        if len(shares) >= FEW:
            found.append(float(np.percentile(shares, STEEPEST)))
    return (min(found) if len(found) > 1 else 0.0), dense


def _span(parts: list[Float64]) -> float:
    """Return how far the values of parts reach, but for the least and the greatest few."""
    low, high = np.percentile(np.concatenate([part.ravel() for part in parts]), (0.5, 99.5))
    return float(high - low)


def _noise(parts: list[Float64]) -> float:
    """Return the standard deviation of the noise of parts of one picture, where it is least."""
    return float(np.median([_roughness(part, 25.0) / QUARTER for part in parts]))


def _shares(plane: Float64, direction: tuple[int, int], least: float) -> tuple[Float64, int]:
    """Return |difference of neighbours| / range around them, along a direction, of high edges."""
    # The second result is the number of samples that were looked at.
    (down, right), margin = direction, REACH + 1
    rows, columns = (max(0, size - 2 * margin) for size in plane.shape)
    lines = np.stack([
        plane[margin + down * k :, margin + right * k :][:rows, :columns]
        for k in range(-REACH, REACH + 2)
    ])  # fmt: skip
    height = lines.max(0) - lines.min(0)
    steps, high = np.abs(lines[REACH + 1] - lines[REACH]), height > least
    found: Float64 = steps[high] / height[high]
    return found, high.size


def noise(plane: Float64) -> float:
    """Return the standard deviation of noise, from second differences of both directions."""
    return _roughness(plane, 50.0) / 0.6745


def _roughness(plane: Float64, percent: float) -> float:
    """Return a percentile of second differences of both directions, over their gain of 6."""
    rough = np.diff(np.diff(plane, 2, 0), 2, 1)
    return float(np.percentile(np.abs(rough), percent) / 6) if rough.size else 0.0


def doubts(parts: list[tuple[Float64, Float64]], psf: Float64) -> tuple[float, float]:
    """Return two shares of what a restoration has changed, that are near 0 with the true PSF.

    `parts` are those of a picture, float64, before and after. The first share is what is not noise
    in what the model does not explain: the root of the covariance of its neighbouring samples,
    beside the standard deviation of the change. The second, ringing, is how far the result is
    beyond all values that are near in the input, on the mean, likewise. Near is as far as the PSF
    spreads light, but REACH at least.
    """
    away = np.arange(len(psf)) - len(psf) // 2
    spread = float((psf * (away[:, None] ** 2 + away**2)).sum()) ** 0.5
    near = 2 * max(REACH, round(spread)) + 1
    margin, shared, beyond, change = len(psf) // 2, [], [], []
    inner = slice(margin, -margin or None)
    for before, sharp in parts:
        rest = (before - blurred(sharp, psf))[inner, inner]
        if min(rest.shape) < 2:
            continue
        rest -= rest.mean()
        shared.append(((rest[1:] * rest[:-1]).mean() + (rest[:, 1:] * rest[:, :-1]).mean()) / 2)
        change.append((sharp - before)[inner, inner].var())
        allowed = 3 * noise(before)
        low = ndimage.minimum_filter(before, near) - allowed
        high = ndimage.maximum_filter(before, near) + allowed
        beyond.append((np.maximum(sharp - high, 0) + np.maximum(low - sharp, 0)).mean())
    if not change or not (changed := float(np.mean(change)) ** 0.5):
        return 0.0, 0.0
    return max(float(np.mean(shared)), 0.0) ** 0.5 / changed, float(np.mean(beyond)) / changed


def blurred(plane: Float64, psf: Float64) -> Float64:
    """Return a picture (rows, columns) convolved with a PSF; beyond its edges it is 0."""
    size = [fft.next_fast_len(n + len(psf) - 1, real=True) for n in plane.shape]
    both = fft.rfft2(plane, size) * fft.rfft2(psf, size)
    middle = len(psf) // 2
    rows, columns = plane.shape
    found: Float64 = fft.irfft2(both, size)[middle : middle + rows, middle : middle + columns]
    return found
