"""CIE L*a*b* of image files as sRGB, relative to its white, as an ICC profile's relative intent.

CIE 15:2004, 8.2.1; IEC 61966-2-1 (sRGB); Lindbloom, "Chromatic adaptation" (Bradford).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]

D50, D65 = (0.3457, 0.3585), (0.3127, 0.3290)
"""Chromaticities (x, y) of white: of ICC profiles, and the default in TIFF; of sRGB."""
_FROM_XYZ = np.array(
    [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]]
)
"""CIE XYZ at D65 to linear sRGB (IEC 61966-2-1)."""
_CONES = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
"""CIE XYZ to the responses in which Bradford's adaptation scales."""
_KNEE, _SLOPE = 6 / 29, 3 * (6 / 29) ** 2
"""Where the cube root of L*a*b* becomes a line, and 1 / the slope of that."""
_DARK = 0.0031308
"""Linear light up to which sRGB is linear: 12.92 times that."""
_ROWS = 64
"""Rows that are converted at once, which takes little memory."""


def srgb(samples: Array, lightest: float, step: float, white: tuple[float, float] = D50) -> Array:
    """Return L*a*b* (H, W, 3), uint8 or uint16, as sRGB of as many bits.

    What sRGB cannot show is clipped. a* and b* are offset by half of what their type holds, and
    `step` samples of them are one unit; L* = 100 is the sample `lightest`. L*a*b* is relative to a
    white of this chromaticity.
    """
    out = np.empty_like(samples)
    most = np.iinfo(samples.dtype).max
    matrix = _FROM_XYZ @ _adaptation(white) * _xyz(white)
    for top in range(0, len(samples), _ROWS):
        part = samples[top : top + _ROWS].astype(np.float64)
        y = (100 / lightest * part[..., :1] + 16) / 116
        ab = (part[..., 1:] - (most + 1) // 2) / step
        roots = np.concatenate([y + ab[..., :1] / 500, y, y - ab[..., 1:] / 200], -1)
        xyz = np.where(roots > _KNEE, roots**3, _SLOPE * (roots - 4 / 29))
        light = np.clip(xyz @ matrix.T, 0, 1)
        shown = np.where(light <= _DARK, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
        out[top : top + _ROWS] = np.rint(shown * most)
    return out


def chromaticity(white: Any) -> tuple[float, float]:
    """Return the white of a TIFF file by its tag WhitePoint; D50 where it has none, or nonsense."""
    try:
        x, y = (float(one) for one in white)
    except (TypeError, ValueError, ZeroDivisionError):
        return D50
    return (x, y) if 0.1 < x < 0.7 and 0.1 < y < 0.7 else D50


def _xyz(white: tuple[float, float]) -> Float64:
    """Return CIE XYZ of a white, with Y = 1."""
    x, y = white
    return np.array([x / y, 1.0, (1 - x - y) / y])


def _adaptation(white: tuple[float, float]) -> Float64:
    """Return the matrix that takes CIE XYZ from a white to that of sRGB."""
    gains = (_CONES @ _xyz(D65)) / (_CONES @ _xyz(white))
    return np.asarray(np.linalg.inv(_CONES) @ (gains[:, None] * _CONES))
