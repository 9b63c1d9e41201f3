"""Appearance, step 1: the log-Gabor filter bank, radial × angular, and a plane through one filter.

Larson & Chandler 2010, 3.2, with the parameters of the authors' code, which builds on Kovesi's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

WAVELENGTHS = (3, 9, 27, 81, 243)  # pixels, scale by scale
ORIENTATIONS = 4  # 0°, 45°, 90°, 135°; each filter is one-sided
SIGMA_ON_F = 0.55
THETA_SIGMA = np.pi / 6

Array = npt.NDArray[Any]


def bank(rows: slice, radial: Array, angular: Array) -> None:
    """Compute some rows of the factors, zero frequency first; a filter is radial × angular.

    Parameters
    ----------
    rows : slice
    radial : (5, M, N)
        Of each scale; out.
    angular : (4, M, N)
        Of each orientation; out.
    """
    _, height, width = radial.shape
    y, x = _coordinates(height)[rows, None], _coordinates(width)[None, :]
    radius = np.hypot(x, y)
    middle = (y == _coordinates(height)[0]) & (x == _coordinates(width)[0])
    radius[middle] = 1
    for plane, wavelength in zip(radial, WAVELENGTHS, strict=True):
        away = np.log(radius * (wavelength / 2))
        plane[rows] = np.exp(-(away**2) / (2 * np.log(SIGMA_ON_F) ** 2))
        plane[rows][middle] = 0  # no filter sees the mean
    theta = np.arctan2(-y, x)
    for orientation, plane in enumerate(angular):
        away = np.abs(theta - orientation * np.pi / ORIENTATIONS)
        away = np.minimum(away, 2 * np.pi - away)
        plane[rows] = np.exp(-(away**2) / (2 * THETA_SIGMA**2))


@compiled
def product(spectrum, radial, angular, out):  # type: ignore[no-untyped-def]
    """Multiply a spectrum by one filter.

    Parameters
    ----------
    spectrum : (M, N, 2)
        Real and imaginary parts.
    radial, angular : (M, N)
    out : (M, N, 2)
        Of the same type, or float64: products are computed in its.
    """
    kind = out.dtype.type
    for i in range(spectrum.shape[0]):
        for j in range(spectrum.shape[1]):
            gain = kind(radial[i, j]) * kind(angular[i, j])
            out[i, j, 0] = spectrum[i, j, 0] * gain
            out[i, j, 1] = spectrum[i, j, 1] * gain


def _coordinates(size: int) -> npt.NDArray[np.float64]:
    """Return −1 … 1 around the middle, zero frequency first.

    An odd size has its middle between two elements, and fftshift, not ifftshift, brings the one
    after it to the front: as in the authors' code.
    """
    return np.fft.fftshift((np.arange(size) - size / 2) / (size / 2))
