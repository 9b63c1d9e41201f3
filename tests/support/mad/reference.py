"""MAD in plain NumPy float64, from the paper and the authors' code's behaviour; no code of ours.

Larson & Chandler 2010, "Most apparent distortion", with the choices of the authors' MATLAB and MEX
version 2011_10_07, which differs from the paper where a docstring says so. ST-MAD, for video, is in
reference_video.py. Planes have M rows and N columns of 0…255; maps are unscaled. The two stages are
`detection` (HI, what is just seen) and `appearance` (LO, how it looks), `mad` joins them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

BLOCK, STRIDE = 16, 4
MARGIN = 16  # first row and column of the inner area; the last is size − 18, so 34² at least
GATE = 0.5  # G, the mean lightness from which on a distortion is seen
CONTRAST = -5.0  # ln contrast of the reference from which on it masks
HI_SCALE = 200.0  # 2011; April 2010: 1; ST-MAD: 10
WAVELENGTHS = (3, 9, 27, 81, 243)
ORIENTATIONS = 4
SCALE_WEIGHTS = np.array([0.5, 0.75, 1.0, 5.0, 6.0]) / 13.25


class Score(NamedTuple):
    """What `mad` returns: the three scores and their two maps."""

    mad: float
    hi: float
    lo: float
    detection: np.ndarray
    appearance: np.ndarray


def luma(image):
    """Grey as it is; RGB by MATLAB's rgb2gray, rounded half up where it has 8 bits."""
    image = np.asarray(image)
    if image.ndim == 2:
        return image.astype(np.float64)
    red, green, blue = np.moveaxis(image.astype(np.float64), -1, 0)
    grey = 0.298936021293775 * red + 0.587043074451121 * green + 0.114020904255103 * blue
    return np.floor(grey + 0.5) if image.dtype == np.uint8 else grey


# Detection: HI


def lightness(plane, variant="2011", eight_bit_lut=False):
    """L = k·I^(2.2/3) in version 2011; (k·I)^(2.2/3) in the paper and the authors' CUDA.

    With the authors' table for 8-bit pictures, whose index img + 1 saturates, 255 is read as 254.
    """
    k, power = 0.02874, 2.2 / 3
    plane = np.asarray(plane, np.float64)
    if eight_bit_lut:
        plane = np.minimum(plane, 254)
    return {"2011": k * plane**power, "paper": (k * plane) ** power}[variant]


def csf(shape):
    """Contrast sensitivity (M, N), zero frequency in the middle; both axes are divided by N."""
    m, n = shape
    u = (np.arange(m) - m / 2 + 0.5)[:, None] / n * 64
    v = (np.arange(n) - n / 2 + 0.5)[None, :] / n * 64
    w = 0.7
    s = (1 - w) / 2 * np.cos(4 * np.arctan2(v, u)) + (1 + w) / 2
    f = np.hypot(u, v) / s
    sensitivity = 2.6 * (0.0192 + 0.114 * f) * np.exp(-((0.114 * f) ** 1.1))
    return np.where(f < 7.8909, 0.9809, sensitivity)


def filtered(plane):
    """Through the CSF at the plane's own size, circular; the real part."""
    spectrum = np.fft.fftshift(np.fft.fft2(plane)) * csf(plane.shape)
    return np.fft.ifft2(np.fft.ifftshift(spectrum)).real


def blocks(plane, side=BLOCK):
    """The top left `side`² of every block: (rows of blocks, columns of blocks, side, side)."""
    height, width = (len(range(0, size - BLOCK + 1, STRIDE)) for size in plane.shape)
    return sliding_window_view(plane, (side, side))[::STRIDE, ::STRIDE][:height, :width]


def block_mean(plane):
    """Mean of each block."""
    return blocks(plane).mean((2, 3))


def block_std(plane, side=BLOCK):
    """Sample standard deviation of the top left `side`² of each block."""
    return blocks(plane, side).std((2, 3), ddof=1)


def modified_std(plane):
    """Least of the 8 × 8 deviations at offsets {0, 5} of a block, read off the tiled map.

    Not the paper's four quarters of the block: an offset of 5 meets the tile of the next block, and
    counts only where the block's own corner plus 5 is less than the size − 15.
    """
    t = block_std(plane, side=8)
    least = t.copy()
    for a, b in np.ndindex(t.shape):
        for down, right in ((0, 5), (5, 0), (5, 5)):
            i, j = STRIDE * a + down, STRIDE * b + right
            if i < plane.shape[0] - 15 and j < plane.shape[1] - 15:
                least[a, b] = min(least[a, b], t[i // STRIDE, j // STRIDE])
    return least


def spread(grid, shape):
    """A value for each block → the 4 × 4 pixels at its top left; 0 in the rows that are left."""
    tiled = np.kron(grid, np.ones((STRIDE, STRIDE)))
    out = np.zeros(shape)
    out[: tiled.shape[0], : tiled.shape[1]] = tiled
    return out


def visibility(reference, distorted):
    """Mask of the block grid: by how much the error's ln contrast is over what hides it."""
    mean = block_mean(reference)
    with np.errstate(divide="ignore", invalid="ignore"):  # std 0 is −inf; mean ≤ 0 is gated
        masking = np.log(modified_std(reference) / mean)
        error = np.log(block_std(distorted - reference) / mean)
        over = error - np.maximum(masking, CONTRAST)
    return np.where((mean >= GATE) & (over > 0), over, 0.0)


def local_mse(reference, distorted):
    """Mean of (ref − dst)² over i − 7 … i + 8, edges mirrored with the edge sample twice."""
    difference = np.subtract(reference, distorted, dtype=np.float64)
    squares = np.pad(difference**2, ((7, 8), (7, 8)), mode="symmetric")
    down = sliding_window_view(squares, BLOCK, axis=0).mean(-1)
    return sliding_window_view(down, BLOCK, axis=1).mean(-1)


def detection(reference, distorted, variant="2011", eight_bit_lut=False):
    """Map of HI: visibility × local mean squared error; the latter always of the true values."""
    reference, distorted = luma(reference), luma(distorted)
    seen = [filtered(lightness(p, variant, eight_bit_lut)) for p in (reference, distorted)]
    return spread(visibility(*seen), reference.shape) * local_mse(reference, distorted)


# Appearance: LO


def bank(shape):
    """Log-Gabor filters by scale and orientation: (5, 4, M, N), zero frequency in the corner."""
    m, n = shape
    x = (np.arange(n) - n / 2)[None, :] / (n / 2)
    y = (np.arange(m) - m / 2)[:, None] / (m / 2)
    theta = np.arctan2(-y, x)
    radius = np.hypot(x, y)
    # MATLAB's round(size/2 + 1), half up and counted from 1; fftshift takes it to (0, 0).
    middle = (m + 1) // 2, (n + 1) // 2
    radius[middle] = 1
    filters = np.empty((len(WAVELENGTHS), ORIENTATIONS, m, n))
    for s, wavelength in enumerate(WAVELENGTHS):
        radial = np.exp(-(np.log(radius * wavelength / 2) ** 2) / (2 * np.log(0.55) ** 2))
        radial[middle] = 0
        for o in range(ORIENTATIONS):
            turned = theta - o * np.pi / ORIENTATIONS
            away = np.arctan2(np.sin(turned), np.cos(turned))  # wrapped to (−π, π]
            angular = np.exp(-(away**2) / (2 * (np.pi / 6) ** 2))
            filters[s, o] = np.fft.fftshift(radial * angular)
    return filters


def responses(plane):
    """Magnitudes (5, 4, M, N); those of a constant plane are 0, whatever the FFT would leave."""
    filters = bank(plane.shape)
    if np.ptp(plane) == 0:
        return np.zeros_like(filters)
    return np.abs(np.fft.ifft2(np.fft.fft2(plane) * filters))


def moments(plane):
    """Sample std, skewness and plain kurtosis of each block; the latter two 0 where it is flat."""
    windows = blocks(plane)
    out = np.zeros((3, *windows.shape[:2]))
    for row, strip in enumerate(windows):
        away = strip.reshape(len(strip), -1)
        away = away - away.mean(1, keepdims=True)
        squares = away * away
        m2 = squares.mean(1)
        m3, m4 = (squares * away).mean(1), (squares * squares).mean(1)
        flat = m2 == 0
        m2[flat] = 1
        values = np.sqrt(squares.sum(1) / (BLOCK**2 - 1)), m3 / m2**1.5, m4 / m2**2
        out[:, row] = np.where(flat, 0.0, values)
    return out


def appearance(reference, distorted):
    """Map of LO: differences of the bands' statistics, weighted by scale."""
    reference, distorted = luma(reference), luma(distorted)
    total = 0.0
    pair = zip(responses(reference), responses(distorted), strict=True)
    for weight, (bands, distorted_bands) in zip(SCALE_WEIGHTS, pair, strict=True):
        for one, other in zip(bands, distorted_bands, strict=True):
            std, skew, kurtosis = np.abs(moments(one) - moments(other))
            total = total + weight * (std + 2 * skew + kurtosis)
    return spread(total, reference.shape)


# Score


def pooled(plane):
    """Root mean square over rows 17 … M − 17 and columns 17 … N − 17, counted from 1."""
    m, n = plane.shape
    return float(np.sqrt(np.mean(plane[MARGIN : m - 17, MARGIN : n - 17] ** 2)))


def blend(hi):
    """Share of HI in the score: 1 where nothing is seen, less the more is."""
    b1, b2 = np.exp(-2.55 / 3.35), 1 / (np.log(10) * 3.35)
    return 1 / (1 + b1 * hi**b2)


def combine(hi, lo):
    """MAD = HI^sig · LO^(1 − sig); 0 where HI is, whatever LO is."""
    sig = blend(hi)
    return float(hi**sig * lo ** (1 - sig))


def mad(reference, distorted, variant="2011", hi_scale=HI_SCALE, eight_bit_lut=False):
    """Score two pictures, grey or RGB; those of 8 bits have the dtype uint8."""
    reference, distorted = luma(reference), luma(distorted)
    seen = detection(reference, distorted, variant, eight_bit_lut)
    looks = appearance(reference, distorted)
    hi, lo = hi_scale * pooled(seen), pooled(looks)
    return Score(combine(hi, lo), hi, lo, seen, looks)
