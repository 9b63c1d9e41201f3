"""Appearance, step 1: the log-Gabor filter bank, and the product of a spectrum with a filter.

Each filter is the product of a radial and an angular factor: Larson & Chandler 2010, 3.2, with the
parameters of the authors' code, which is based on Kovesi's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

WAVELENGTHS = (3, 9, 27, 81, 243)  # wavelength of the centre frequency of each scale, pixels
ORIENTATIONS = 4  # 0°, 45°, 90°, 135°; each filter covers one side of the spectrum
SIGMA_ON_F = 0.55  # bandwidth: standard deviation of the radial Gaussian over the centre frequency
THETA_SIGMA = np.pi / 6  # standard deviation of the angular Gaussian, radians

Array = npt.NDArray[Any]


def bank(rows: slice, radial: Array, angular: Array) -> None:
    """Compute some rows of the filters' factors, zero frequency first.

    They are `radial` (5, M, N), of each scale, and `angular` (4, M, N), of each orientation.
    """
    _, height, width = radial.shape
    y, x = _coordinates(height)[rows, None], _coordinates(width)[None, :]
    radius = np.hypot(x, y)
    zero = (y == _coordinates(height)[0]) & (x == _coordinates(width)[0])
    radius[zero] = 1
    for plane, wavelength in zip(radial, WAVELENGTHS, strict=True):
        log_ratio = np.log(radius * (wavelength / 2))
        plane[rows] = np.exp(-(log_ratio**2) / (2 * np.log(SIGMA_ON_F) ** 2))
        plane[rows][zero] = 0  # no filter passes the mean
    theta = np.arctan2(-y, x)
    for orientation, plane in enumerate(angular):
        angle = np.abs(theta - orientation * np.pi / ORIENTATIONS)
        angle = np.minimum(angle, 2 * np.pi - angle)
        plane[rows] = np.exp(-(angle**2) / (2 * THETA_SIGMA**2))


@compiled
def product(spectrum, radial, angular, out):  # type: ignore[no-untyped-def]
    """Multiply a spectrum (M, N, 2), real and imaginary parts, by the factors (M, N) of one filter.

    Products are computed in the dtype of `out` (M, N, 2): that of `spectrum`, or float64.
    """
    real = out.dtype.type
    for i in range(spectrum.shape[0]):
        for j in range(spectrum.shape[1]):
            gain = real(radial[i, j]) * real(angular[i, j])
            out[i, j, 0] = spectrum[i, j, 0] * gain
            out[i, j, 1] = spectrum[i, j, 1] * gain


def _coordinates(size: int) -> npt.NDArray[np.float64]:
    """Return the frequencies of one axis, −1 … 1 of the Nyquist frequency, zero frequency first."""
    # At an odd size, zero lies between two elements. fftshift (not ifftshift) moves the latter of
    # them to the front, as in the authors' code.
    return np.fft.fftshift((np.arange(size) - size / 2) / (size / 2))
