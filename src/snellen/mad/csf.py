"""Detection, step 2: the contrast sensitivity function, as a filter of spectra."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

W = 0.7  # sensitivity on the diagonals, Larson & Chandler 2010, equation (3)
PER_DEGREE = 64  # pixels a degree, and so 32 cycles a degree at most; the authors' viewing distance
FLAT, FLAT_BELOW = 0.9809, 7.8909  # equation (2): low-pass, not band-pass
GAIN, BASE, SLOPE, POWER = 2.6, 0.0192, 0.114, 1.1  # ibid., from Mannos & Sakrison 1974


def csf(height: int, width: int) -> npt.NDArray[np.float64]:
    """Return the filter for the spectrum of a real plane, as rfft2 gives it.

    The authors sample the function half a frequency beside the grid of an even size, which makes
    the filtered plane complex, and keep the real part. Of a real plane that is what the even part
    of the filter gives, (csf(k) + csf(−k)) / 2, and so half the spectrum suffices.

    Vertical frequencies are divided by the width, too: so does the authors' code.

    Returns
    -------
    (height, width // 2 + 1) float64
    """
    half = width // 2 + 1
    full = _sensitivity(_frequencies(height, width), _frequencies(width, width))
    opposite = full[-np.arange(height)][:, -np.arange(half)]
    return (full[:, :half] + opposite) / 2


def _frequencies(size: int, width: int) -> npt.NDArray[np.float64]:
    """Return cycles a degree of each element of a spectrum, zero first."""
    return np.fft.ifftshift(np.arange(size) - size / 2 + 0.5) / width * PER_DEGREE


def _sensitivity(
    down: npt.NDArray[np.float64], across: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    u, v = down[:, None], across[None, :]
    oblique = (1 - W) / 2 * np.cos(4 * np.arctan2(v, u)) + (1 + W) / 2
    f = np.hypot(u, v) / oblique
    curve = GAIN * (BASE + SLOPE * f) * np.exp(-((SLOPE * f) ** POWER))
    return np.where(f < FLAT_BELOW, FLAT, curve)
