"""Which non-local means: what is computed, with every constant, its unit and its source.

Each sample becomes the weighted mean of the samples around it, in its own frame and in the frames
before and after; a sample counts as much as the patch around it is like the patch around the one
that is denoised (Buades, Coll, Morel: A non-local algorithm for image denoising, CVPR 2005; over
frames: Denoising image sequences does not require motion estimation, AVSS 2005):

    out(x) = Σ w(x, y) value(y) / Σ w(x, y)
    w(x, y) = (1 − D / T)⁸ where D < T, else 0
    D = Σ of (level(x + o) − level(y + o))², over the offsets o of a patch

The weight is a bisquare of higher degree (Goossens, Luong, Pižurica, Philips: An improved
non-local denoising algorithm, LNLA 2008). With T = 8 n h² it is within 0.05 of Welsch's
exp(−D / (n h²)), which Buades uses, and costs three products. D of all samples for one offset
between x and y is a box sum of squares (Darbon, Cunha, Chan, Osher, Jensen: Fast nonlocal filtering
applied to electron cryomicroscopy, ISBI 2008), which is slid along: the patch's size costs little.

x itself gets the greatest of the other weights, as Buades has it. Beyond its edges a frame is
mirrored, the outermost samples repeated.

Luma is a group by itself; both chroma planes are another one, at their own resolution, with common
weights. What KNLMeansCL calls d, a, s and h is here the radius, SEARCH, PATCH and the strength in
multiples of the standard deviation of the noise.

**Exact sums.** A level is the sample itself, or its upper LEVEL_BITS bits. Differences of levels
are limited so that D is an integer below 2²⁴: float32 holds it exactly, whatever the order of the
sums. So both backends compute the same weights, and their means are the same to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, pi, sqrt

import numpy as np
import numpy.typing as npt

SEARCH = 3
"""Radius in samples of the square of positions that are compared, in each frame."""
PATCH = 2
"""Radius in samples of a patch."""
TAPS = 2 * PATCH + 1
"""Side of a patch in samples."""
MARGIN = SEARCH + PATCH
"""Samples beyond an edge that are read."""
RADIUS = 2
"""Frames before and after that are compared, by default."""
MOST_FRAMES = 8
"""Greatest radius."""
STRENGTH = 1.2
"""h, by default, in standard deviations of the noise; chosen on training pictures, lab/nlm.md."""
STRONGEST = 10.0
"""Greatest strength."""

LEVEL_BITS = 10
"""Bits of a level at most: a quarter of an 8-bit code is far below what is called noise."""
EXACT = (1 << 24) - 1
"""Greatest D and T: up to here float32 holds every integer."""
POWER = 8
"""Exponent of the weight."""

# The noise: a second difference across and down (Immerkær: Fast noise variance estimation, CVIU
# 1996), but of every second sample, as the grain of film and of codecs is as wide as a sample or
# two; its absolute values are summed in blocks, and of the blocks a low quantile counts, where the
# picture is smooth. A block is empty if in one of its rows or columns all differences are 0, as in
# black bars and at their edges: it does not count, but where more than half of all blocks are
# empty, the picture is a drawing without noise.
STEP = 2
"""Distance in samples of the three taps 1, −2, 1."""
BLOCK = 16
"""Side of a block in samples."""
QUANTILE = 20
"""One block of so many has less noise than what is estimated."""
BIN, BINS = 64, 4096
"""Width of a bin of the histogram of the sums of blocks, and their number."""
GAIN = 6.0
"""Standard deviation of the second difference of white noise of deviation 1: √(6 · 6)."""
FLOOR = 0.25
"""Least standard deviation of the noise, in 8-bit codes: about that of rounding to them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A user's choices."""

    strength: float = STRENGTH
    """h in standard deviations of the noise."""
    radius: int = RADIUS
    """Frames before and after."""
    noise: float | None = None
    """Standard deviation of the noise in 8-bit codes; None: estimated, for each frame."""


def shift(bits: int) -> int:
    """Return how many low bits of a sample its level omits."""
    return max(0, bits - LEVEL_BITS)


def limit(planes: int) -> int:
    """Return the greatest difference of two levels that counts, for a group of so many planes."""
    return isqrt(EXACT // (planes * TAPS**2))


def thresholds(settings: Settings, planes: int, bits: int) -> npt.NDArray[np.float32]:
    """Return T and 1 / T for each bin in which the quantile of the blocks may lie, (BINS, 2)."""
    code = 2.0 ** (bits - shift(bits) - 8)  # levels of an 8-bit code
    sums = (np.arange(BINS) + 0.5) * BIN
    deviation = sums / BLOCK**2 * sqrt(pi / 2) / GAIN  # of normal noise, from its mean modulus
    if settings.noise is not None:
        deviation[:] = settings.noise * code
    variance = np.maximum(deviation, FLOOR * code) ** 2
    exact = np.floor(POWER * settings.strength**2 * variance * planes * TAPS**2)
    found = np.empty((BINS, 2), np.float32)
    found[:, 0] = np.clip(exact, 1, EXACT)
    found[:, 1] = np.float32(1) / found[:, 0]
    return found
