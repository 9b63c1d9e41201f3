"""MIA in plain NumPy and float64, from its definition: every option, NumPy's real transforms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.mia.definition import Definition

Float64 = npt.NDArray[np.float64]

EPS, LEAST = 1e-6, 1e-6  # of divisors, of corrections
TV_EPS, TV_LEAST = 1e-6, 0.2


def restore(
    y: Float64, f: Float64, h: Float64, count: int, definition: Definition
) -> tuple[Float64, Float64]:
    """Return f (H, W) and h (M, H, W) after so many iterations.

    Parameters
    ----------
    y : (M, H, W)
        Negative where nothing was observed.
    f : (H, W)
    h : (M, H, W)
        Around (0, 0).
    count : int
    definition : Definition
    """
    correct = _poisson if definition.noise == "poisson" else _gaussian
    h = h / h.sum((1, 2), keepdims=True)
    for _ in range(count):
        of_f, of_h = correct(y, f, h, definition.read_noise**2)
        new = f * np.maximum(of_f, LEAST)
        if definition.tv:
            new /= np.maximum(1 - definition.tv * _curvature(f), TV_LEAST)
        f = new
        if definition.blind:
            h = h * np.maximum(of_h, 0)
            h /= h.sum((1, 2), keepdims=True)
    return f, h


def _poisson(y: Float64, f: Float64, h: Float64, offset: float) -> tuple[Float64, Float64]:
    """Return the corrections of f and of each h."""
    picture, blurs = np.fft.rfft2(f), np.fft.rfft2(h)
    g = np.fft.irfft2(picture * blurs, f.shape)
    ratios = np.where(y < 0, 1.0, (y + offset) / np.maximum(g + offset, EPS))
    spectra = np.fft.rfft2(ratios)
    of_f = np.fft.irfft2((spectra * blurs.conj()).mean(0), f.shape)
    return of_f, np.fft.irfft2(spectra * picture.conj(), f.shape) / f.sum()


def _gaussian(y: Float64, f: Float64, h: Float64, offset: float) -> tuple[Float64, Float64]:
    """Return likewise the quotients of ISRA."""
    picture, blurs = np.fft.rfft2(f), np.fft.rfft2(h)
    models = picture * blurs
    seen = np.fft.rfft2(np.where(y < 0, np.fft.irfft2(models, f.shape), y))

    def back(spectra: npt.NDArray[np.complex128]) -> tuple[Float64, Float64]:
        of_f = np.fft.irfft2((spectra * blurs.conj()).sum(0), f.shape)
        return of_f, np.fft.irfft2(spectra * picture.conj(), f.shape) / f.sum()

    (above, above_h), (below, below_h) = back(seen), back(models)
    return above / np.maximum(below, EPS), above_h / np.maximum(below_h, EPS)


def _curvature(f: Float64) -> Float64:
    """Return div(∇f / |∇f|), forward differences and their adjoint on the period."""
    right, down = np.roll(f, -1, 1) - f, np.roll(f, -1, 0) - f
    length = np.sqrt(right**2 + down**2 + TV_EPS)
    right, down = right / length, down / length
    away: Float64 = right - np.roll(right, 1, 1) + down - np.roll(down, 1, 0)
    return away
