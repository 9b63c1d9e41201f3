"""Detection, step 1: grey to perceived lightness, (k·I)^(2.2/3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.mad.definition import WHITE, Definition

Float64 = npt.NDArray[np.float64]

K = 0.02874  # grey to luminance of an sRGB display, with gamma; Larson & Chandler 2010, 3.1
POWER = 2.2 / 3  # gamma, then the cube root of lightness
LAST = 254.0  # what the authors' table reads for 255: its index, img + 1 in uint8, saturates


def lightness(grey: Float64, definition: Definition) -> Float64:
    """Return the lightness of grey 0 … 255; that of 0 for negative grey.

    Version 2011 is k·I^(2.2/3), where the paper says (k·I)^(2.2/3): they differ by a factor, which
    only the threshold of darkness sees.
    """
    grey = np.maximum(grey, 0)
    if definition.eight_bit_lut:
        grey = np.minimum(grey, LAST)
    if definition.variant == "paper":
        return np.asarray((K * grey) ** POWER)
    return np.asarray(K * grey**POWER)


def table(bits: int, peak: float, definition: Definition) -> Float64:
    """Return the lightness of every integer sample of a depth, where `peak` is white."""
    return lightness(np.arange(1 << bits, dtype=np.float64) * (WHITE / peak), definition)
