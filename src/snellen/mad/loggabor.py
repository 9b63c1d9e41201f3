"""Appearance, step 1: the log-Gabor filter bank, radial × angular, and a plane through one filter.

Larson & Chandler 2010, 3.2, with the parameters of the authors' code, which builds on Kovesi's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from snellen.compiled import compiled

WAVELENGTHS = (3, 9, 27, 81, 243)  # pixels, scale by scale
ORIENTATIONS = 4  # 0°, 45°, 90°, 135°; each filter is one-sided
SIGMA_ON_F = 0.55
THETA_SIGMA = np.pi / 6

Float64 = npt.NDArray[np.float64]


def radial(height: int, width: int) -> Iterator[Float64]:
    """Yield the radial factor (height, width) of each scale, zero frequency first."""
    y, x = _coordinates(height, width)
    radius = np.hypot(x, y)
    radius[0, 0] = 1
    octaves = np.log(radius)
    for wavelength in WAVELENGTHS:
        plane = np.exp(-((octaves + np.log(wavelength / 2)) ** 2) / (2 * np.log(SIGMA_ON_F) ** 2))
        plane[0, 0] = 0  # a filter does not see the mean
        yield plane


def angular(height: int, width: int) -> Iterator[Float64]:
    """Yield the angular factor (height, width) of each orientation, zero frequency first."""
    y, x = _coordinates(height, width)
    theta = np.arctan2(-y, x)
    for orientation in range(ORIENTATIONS):
        away = np.abs(theta - orientation * np.pi / ORIENTATIONS)
        away = np.minimum(away, 2 * np.pi - away)
        yield np.exp(-(away**2) / (2 * THETA_SIGMA**2))


@compiled
def product(spectrum, radial, angular, out):  # type: ignore[no-untyped-def]
    """Multiply a spectrum by one filter.

    Parameters
    ----------
    spectrum : (M, N, 2)
        Real and imaginary parts.
    radial, angular : (M, N)
    out : (M, N, 2)
    """
    for i in range(spectrum.shape[0]):
        for j in range(spectrum.shape[1]):
            gain = radial[i, j] * angular[i, j]
            out[i, j, 0] = spectrum[i, j, 0] * gain
            out[i, j, 1] = spectrum[i, j, 1] * gain


def _coordinates(height: int, width: int) -> tuple[Float64, Float64]:
    """Return y as a column and x as a row: −1 … 1 around the middle, zero frequency first.

    An odd size has its middle between two elements, and fftshift, not ifftshift, brings the one
    after it to the front: as in the authors' code.
    """
    y, x = (np.fft.fftshift((np.arange(n) - n / 2) / (n / 2)) for n in (height, width))
    return y[:, None], x[None, :]
