"""Detection, step 1: convert grey to perceived lightness, (k·I)^(2.2/3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.mad.definition import WHITE, Definition

Float64 = npt.NDArray[np.float64]

K = 0.02874  # k, luminance of an sRGB display per grey, before gamma; Larson & Chandler 2010, 3.1
POWER = 2.2 / 3  # the display's gamma, times the exponent 1/3 of lightness
LAST = 254.0  # the grey that the authors' table uses for 255: its index img + 1 saturates in uint8


def lightness(grey: Float64, definition: Definition) -> Float64:
    """Return the lightness of grey samples I, float64 of 0 … 255; negative ones count as 0.

    Version 2011 computes k·I^(2.2/3), the paper (k·I)^(2.2/3). The two differ by a factor, which
    only affects the threshold of darkness (`masking.GATE`).
    """
    grey = np.maximum(grey, 0)
    if definition.eight_bit_lut:
        grey = np.minimum(grey, LAST)
    if definition.variant == "paper":
        return np.asarray((K * grey) ** POWER)
    return np.asarray(K * grey**POWER)


def table(bits: int, peak: float, definition: Definition) -> Float64:
    """Return the lightness, float64, of all samples 0 … 2^bits − 1, of which `peak` is white."""
    return lightness(np.arange(1 << bits, dtype=np.float64) * (WHITE / peak), definition)
