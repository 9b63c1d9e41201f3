"""MAD in plain NumPy and float64, from the paper and the constants of the authors' code of 2011.

Vectorised, with NumPy's own FFT, every block a window of a strided view; no tricks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from snellen.mad.result import Score

Float64 = npt.NDArray[np.float64]

SCALES = ((3, 0.5), (9, 0.75), (27, 1.0), (81, 5.0), (243, 6.0))
"""Wavelength and weight."""


def score(reference: Float64, distorted: Float64) -> Score:
    """Score a pair of planes (H, W) of grey in 0 … 255."""
    seen, looks = detection(reference, distorted), appearance(reference, distorted)
    hi, lo = 200 * _rms(seen), _rms(looks)
    sig = 1 / (1 + np.exp(-2.55 / 3.35) * hi ** (1 / (np.log(10) * 3.35)))
    return Score(float(hi**sig * lo ** (1 - sig)), hi, lo, seen, looks)


def detection(reference: Float64, distorted: Float64) -> Float64:
    """Return the map of what is just seen."""
    csf = np.fft.ifftshift(_csf(*reference.shape))
    one, other = (
        np.fft.ifft2(np.fft.fft2(0.02874 * plane ** (2.2 / 3)) * csf).real
        for plane in (reference, distorted)
    )
    mean, error = _windows(one).mean((2, 3)), _windows(other - one).std((2, 3), ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        masking, contrast = np.log(_least(one) / mean), np.log(error / mean)
    over = contrast - np.maximum(masking, -5)
    visible = np.where((mean >= 0.5) & (over > 0), over, 0)
    squares = np.pad((reference - distorted) ** 2, ((7, 8), (7, 8)), mode="symmetric")
    lines = sliding_window_view(squares, 16, axis=0).mean(-1)
    mse: Float64 = sliding_window_view(lines, 16, axis=1).mean(-1)
    return _spread(visible, reference.shape) * mse


def appearance(reference: Float64, distorted: Float64) -> Float64:
    """Return the map of how different it looks."""
    height, width = reference.shape
    y = ((np.arange(height) - height / 2) / (height / 2))[:, None]
    x = ((np.arange(width) - width / 2) / (width / 2))[None, :]
    radius, theta = np.hypot(x, y), np.arctan2(-y, x)
    middle = (height + 1) // 2, (width + 1) // 2
    radius[middle] = 1
    # A constant plane has no response, whatever rounding a transform would leave.
    varied = [plane if np.ptp(plane) else np.zeros_like(plane) for plane in (reference, distorted)]
    spectra = [np.fft.fft2(plane) for plane in varied]
    total = np.zeros(_windows(reference).shape[:2])
    for wavelength, weight in SCALES:
        radial = np.exp(-(np.log(radius * wavelength / 2) ** 2) / (2 * np.log(0.55) ** 2))
        radial[middle] = 0
        for orientation in range(4):
            away = np.abs(theta - orientation * np.pi / 4)
            away = np.minimum(away, 2 * np.pi - away)
            band = np.fft.fftshift(radial * np.exp(-(away**2) / (2 * (np.pi / 6) ** 2)))
            one, other = (_statistics(np.abs(np.fft.ifft2(s * band))) for s in spectra)
            std, skew, kurtosis = np.abs(one - other)
            total += weight / 13.25 * (std + 2 * skew + kurtosis)
    return _spread(total, reference.shape)


def _csf(height: int, width: int) -> Float64:
    """Contrast sensitivity, zero frequency in the middle; both axes are divided by the width."""
    u = ((np.arange(height) - height / 2 + 0.5) * 64 / width)[:, None]
    v = ((np.arange(width) - width / 2 + 0.5) * 64 / width)[None, :]
    f = np.hypot(u, v) / (0.15 * np.cos(4 * np.arctan2(v, u)) + 0.85)
    curve = 2.6 * (0.0192 + 0.114 * f) * np.exp(-((0.114 * f) ** 1.1))
    return np.where(f < 7.8909, 0.9809, curve)


def _windows(plane: Float64) -> Float64:
    """Every block of 16 × 16, four pixels apart: (rows, columns, 16, 16)."""
    return sliding_window_view(plane, (16, 16))[::4, ::4]


def _least(plane: Float64) -> Float64:
    """Least deviation of the top left 8 × 8 of a block and of those right of it and below."""
    # The next block counts where the corner plus 5 is less than the size − 15.
    own: Float64 = _windows(plane)[:, :, :8, :8].std((2, 3), ddof=1)
    for axis, size in enumerate(plane.shape):
        own = np.moveaxis(own, axis, 0)
        count = np.count_nonzero(4 * np.arange(len(own)) + 5 < size - 15)
        own = np.concatenate([np.minimum(own[:count], own[1 : count + 1]), own[count:]])
        own = np.moveaxis(own, 0, axis)
    return own


def _statistics(response: Float64) -> Float64:
    """Sample standard deviation, skew and plain kurtosis of every block: (3, rows, columns)."""
    windows = _windows(response)
    away = windows - windows.mean((2, 3), keepdims=True)
    squares = away * away
    m2, m3, m4 = squares.mean((2, 3)), (squares * away).mean((2, 3)), (squares**2).mean((2, 3))
    flat = m2 == 0
    m2[flat] = 1
    found = np.stack([np.sqrt(m2 * (256 / 255)), m3 / m2**1.5, m4 / m2**2])
    found[:, flat] = 0
    return found


def _spread(blocks: Float64, shape: tuple[int, ...]) -> Float64:
    """Give each block's value to the 4 × 4 pixels at its top left; 0 where there are none."""
    out = np.zeros(shape)
    tiled = blocks.repeat(4, axis=0).repeat(4, axis=1)
    out[: tiled.shape[0], : tiled.shape[1]] = tiled
    return out


def _rms(plane: Float64) -> float:
    """Root mean square of a map without its margin."""
    return float(np.sqrt(np.mean(plane[16:-17, 16:-17] ** 2)))
