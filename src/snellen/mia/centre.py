"""The centre of an estimated PSF: PSF and picture are moved so that it is in the middle.

A blind restoration may be shifted, as the PSF can hold the opposite shift. Where the centre of mass
of the PSF is its middle, the restored picture lies where the blurred one has it.

A move by a fraction a of a pixel is that of the cubic spline through the samples, written as what
flows from each sample to the next one. Flows are cut where they would take more than there is, down
to those of linear interpolation: no sample becomes negative, and the sum stays (flux-corrected
transport; Boris and Book, J. Comput. Phys. 11, 1973; Zalesak, J. Comput. Phys. 31, 1979).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.mia.psf import from_period, to_period

WHOLE = "whole"
"""Moves are by whole pixels, as in implementations that interpolate nothing."""
Recentre = bool | str
"""PSFs, and the pictures with them, are moved or not: True, False or WHOLE."""
LEAST = 1e-6
"""Pixels; a shorter fraction is none, so that rounding moves no symmetric PSF and no picture."""
RADIUS = 8
"""Samples on each side from which something flows. The spline's weights fall by 2 + √3 from one
sample to the next, so that those beyond are below 3·10⁻⁵."""
BAND = 1 << 16
"""Samples of lines that are moved at once, for the sake of caches and of memory."""
ROUNDS = 4
"""Rounds of `centred`. Where flows are cut, the centre moves by a little more or less than a: by up
to a tenth of it, so that each round leaves a tenth."""

Float64 = npt.NDArray[np.float64]


def centroid(psf: Any) -> tuple[float, float]:
    """Return how far down and right of the middle the centre of mass of PSFs (…, K, K) is.

    In pixels; of several it is that of their mean; 0, 0 for a sum of 0.
    """
    mean = psf.reshape(-1, *psf.shape[-2:]).astype(np.float64).mean(0)
    distance = np.arange(mean.shape[-1]) - mean.shape[-1] // 2
    total = mean.sum()
    if not total:
        return 0.0, 0.0
    down, right = (float((mean.sum(axis) * distance).sum() / total) for axis in (1, 0))
    return down, right


def recentre(f: Any, h: Any, side: int, whole: bool = False) -> tuple[Any, Any]:
    """Move f (H, W) and h (M, H, W) oppositely so that the centre of mass of h is in the middle.

    All PSFs, on the period, move by the same distance, that of their mean: by whole pixels only
    with `whole`. Samples of h that leave the support of `side` by whole pixels are cut off, and h
    is scaled to sum 1 again. If nothing of a PSF would be left, nothing is moved.
    """
    (down, part_down), (right, part_right) = map(_parted, centroid(from_period(h, side)))
    psf = from_period(np.roll(h, (-down, -right), (-2, -1)), side)
    total = psf.sum((-2, -1), keepdims=True)
    if not total.all():
        return f, h
    psf, f = psf / total, np.roll(f, (down, right), (-2, -1))
    if not whole:
        psf = moved(psf, (-part_down, -part_right), closed=True)
        f = moved(f, (part_down, part_right))
    return f, to_period(psf, h.shape[-2:])


def centred(psfs: Float64) -> Float64:
    """Return PSFs (…, K, K), moved so that the centre of mass of their mean is in the middle.

    Each has the sum 1; samples that leave the support by whole pixels are cut off. If nothing of a
    PSF would be left, nothing is moved.
    """
    (down, _), (right, _) = map(_parted, centroid(psfs))
    whole, size = np.zeros_like(psfs), psfs.shape[-1]
    rows, columns = (
        (slice(max(0, -by), size - max(0, by)), slice(max(0, by), size - max(0, -by)))
        for by in (down, right)
    )
    whole[..., rows[0], columns[0]] = psfs[..., rows[1], columns[1]]
    total = whole.sum((-2, -1), keepdims=True)
    if not total.all():
        return psfs
    whole /= total
    found, by = whole, np.zeros(2)
    for _ in range(ROUNDS):
        by -= centroid(found)
        found = moved(whole, (float(by[0]), float(by[1])), closed=True)
    return found


def moved(planes: Any, by: tuple[float, float], closed: bool = False) -> Any:
    """Return planes (…, rows, columns), not negative, moved down and to the right by −1 … 1.

    Float32 or float64; by 0 nothing changes. With `closed` nothing leaves the planes at their
    edges, else they are periodic.
    """
    found = np.array(planes, order="C")
    for plane in found.reshape(-1, *found.shape[-2:]):
        if by[1]:
            _move(plane, by[1], closed)
        if by[0]:
            _move(plane.T, by[0], closed)
    return found


def flow(part: float) -> Float64:
    """Return what flows into a sample from the one before: the weights (2 RADIUS + 1,) of samples.

    Of those from RADIUS before the sample to RADIUS after it; the last weight is 0.
    """
    places = np.arange(-RADIUS, RADIUS + 1, dtype=np.float64)
    weights = _cardinal(places - part)  # where a single sample goes
    found = np.zeros_like(weights)
    found[:RADIUS] = weights[:RADIUS:-1].cumsum()  # what goes so far from those before
    found[RADIUS:-1] = -weights[:RADIUS].cumsum()[::-1]  # what goes back from the others
    return found


def _cardinal(x: Float64) -> Float64:
    """Return the cubic spline that is 1 at 0 and 0 at all other integers."""
    pole = np.sqrt(3) - 2
    whole = np.floor(x)
    found = np.zeros_like(x)
    for j in (-1, 0, 1, 2):
        away = np.abs(x - whole - j)
        bell = np.where(away < 1, 2 / 3 - away**2 + away**3 / 2, (2 - away).clip(0) ** 3 / 6)
        found += np.sqrt(3) * pole ** np.abs(whole + j) * bell
    return found


def _move(lines: Any, part: float, closed: bool) -> None:
    """Move lines (rows, samples) in place."""
    weights, size = flow(part), lines.shape[-1]
    weights[RADIUS - (part > 0)] -= part  # of linear interpolation, which is apart
    band = max(1, BAND // size)
    for at in range(0, len(lines), band):
        some = lines[at : at + band]
        wide = np.pad(some, ((0, 0), (RADIUS, RADIUS)), "constant" if closed else "wrap")
        low = part * wide[:, RADIUS - (part > 0) :][:, :size]
        rest = np.zeros_like(low)
        for k, weight in enumerate(weights[:-1].tolist()):
            rest += weight * wide[:, k : k + size]
        if closed:
            low[:, 0] = rest[:, 0] = 0
        least = some + low - np.roll(low, -1, -1)
        leaves = np.maximum(np.roll(rest, -1, -1), 0) - np.minimum(rest, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(leaves > least, least / leaves, lines.dtype.type(1)).clip(0)
        rest *= np.where(rest > 0, np.roll(share, 1, -1), share)
        some[...] = np.maximum(least + rest - np.roll(rest, -1, -1), 0)


def _parted(distance: float) -> tuple[int, float]:
    """Return a distance as whole pixels, and what is left, −1/2 … 1/2."""
    whole = int(np.rint(distance))
    part = distance - whole
    return whole, part if abs(part) >= LEAST else 0.0
