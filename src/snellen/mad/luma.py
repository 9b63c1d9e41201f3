"""Conversion of RGB to grey by the authors' coefficients."""

from __future__ import annotations

from typing import Any

from snellen.frames.arrays import library

# MATLAB's rgb2gray: first row of inv([1, 0.956, 0.621; 1, −0.272, −0.647; 1, −1.106, 1.703]).
# Coefficients rounded to four digits would change scores by 1e-4.
RED, GREEN, BLUE = 0.298936021293775, 0.587043074451121, 0.114020904255103


def luma(rgb: Any) -> Any:
    """Return the grey (…, H, W) of RGB samples (…, H, W, 3) of NumPy or CuPy, of any range.

    It is uint8 for uint8, rounded half up, else float64, not rounded.
    """
    xp = library(rgb)
    red, green, blue = (rgb[..., channel].astype(xp.float64) for channel in range(3))
    red *= RED
    green *= GREEN
    blue *= BLUE
    red += green
    red += blue
    if rgb.dtype != xp.uint8:
        return red
    red += 0.5
    return red.astype(xp.uint8)  # truncates: the values are not negative
