"""Detection, step 2: the contrast sensitivity function, as a filter of spectra."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

W = 0.7  # sensitivity on the diagonals; Larson & Chandler 2010, equation (3)
PER_DEGREE = 64  # pixels per degree of visual angle at the authors' viewing distance
# Equation (2): below FLAT_BELOW cycles per degree, the CSF is FLAT, which makes it low-pass. Above,
# it is that of Mannos & Sakrison 1974.
FLAT, FLAT_BELOW = 0.9809, 7.8909
GAIN, BASE, SLOPE, POWER = 2.6, 0.0192, 0.114, 1.1


def csf(height: int, width: int) -> npt.NDArray[np.float64]:
    """Return the filter that multiplies the half spectrum (rfft2) of a real plane (height, width).

    At even sizes, the authors sample the function half a frequency off the grid of the FFT. Their
    filtered plane is therefore complex, and they keep its real part. For a real plane, the even
    part of the filter, (csf(k) + csf(−k)) / 2, gives the same from half the spectrum.

    Vertical frequencies are divided by the width, too, as in the authors' code. The result is
    (height, width // 2 + 1) float64, zero frequency first.
    """
    half = width // 2 + 1
    full = _sensitivity(_frequencies(height, width), _frequencies(width, width))
    opposite = full[-np.arange(height)][:, -np.arange(half)]
    return (full[:, :half] + opposite) / 2


def _frequencies(size: int, width: int) -> npt.NDArray[np.float64]:
    """Return the frequencies of the elements of a spectrum in cycles per degree, zero first."""
    return np.fft.ifftshift(np.arange(size) - size / 2 + 0.5) / width * PER_DEGREE


def _sensitivity(
    down: npt.NDArray[np.float64], across: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the contrast sensitivity at vertical and horizontal frequencies, cycles per degree."""
    u, v = down[:, None], across[None, :]
    oblique = (1 - W) / 2 * np.cos(4 * np.arctan2(v, u)) + (1 + W) / 2
    f = np.hypot(u, v) / oblique
    curve = GAIN * (BASE + SLOPE * f) * np.exp(-((SLOPE * f) ** POWER))
    return np.where(f < FLAT_BELOW, FLAT, curve)
