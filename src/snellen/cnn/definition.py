"""A compact network's computation and its sizes are defined here.

From a plane of luma v (8-bit code / 128 − 1, so that every code is exact in half precision):

    h₀ = PReLU(conv₀(v) + b₀)                       1 → C channels
    hₖ = PReLU(convₖ(hₖ₋₁) + bₖ), k = 1 … M         C → C
    r  = conv(h_M) + b + skip(v)                    C → s², and 1 → s²
    y  = bicubic(v) + pixel shuffle(r)

All convolutions are 3×3 correlations but `skip`, which has 3×3 or 5×5 taps. Sample (i, j) of cell
(Y, X) of y is channel s·i + j of r at (Y, X). The picture is continued beyond its edges by their
samples before the first convolution, and nowhere else: a result depends on the samples around it,
not on where a tile begins. Shi et al. 2016 (pixel shuffle), Dong et al. 2016 (network on the small
picture, PReLU), Zhang et al. 2021 (trained with parallel branches that merge into one 3×3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snellen.frames.frame import Format

SCALES = (2, 3, 4)
SIZES = {"fast": (4, 16), "fine": (6, 32)}
"""Name → (M, C): convolutions between the first and the last, and channels."""
MOST_LAYERS, MOST_CHANNELS = 16, 64
"""Bounds of M and C."""
SKIPS = (3, 5)
"""Sides of the linear filter from the plane to the result."""
HALF = 128.0
"""8-bit code that becomes v = 0, and codes in a unit of v."""
WHITE = 255.0
"""8-bit code of white where luma has its full range."""


def radius(layers: int) -> int:
    """Return how far a result sees: samples of the small picture, in each direction."""
    return layers + 2


def unit(format: Format) -> float:
    """Return how much of a sample is an 8-bit code: v = sample / (unit · HALF) − 1.

    Codes of limited range double with each further bit. Of full range, and where the format says
    which value white has, white becomes 255. White of float samples is 1 if nothing says it.
    """
    if format.bits and not format.full_range and format.white is None:
        return float(1 << (format.bits - 8))
    return (format.white or ((1 << format.bits) - 1 if format.bits else 1)) / WHITE
