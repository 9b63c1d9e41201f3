"""Conversion of float samples to integer code values, and between bit depths."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled
from snellen.frames.arrays import library
from snellen.frames.frame import Format, Plane


def recode(source: Format, target: Format, chroma: bool) -> tuple[float, float]:
    """Return factor and offset of target value = factor · source value + offset, between depths.

    In limited range, each further bit doubles a code value (ITU-R BT.2100). In full range, white
    maps to white, and the neutral chroma value 2^(bits − 1) to the neutral value (ITU-T H.273).
    Only `bits` of the formats and the source's `full_range` count. With float samples on either
    side (bits = 0) nothing is converted.
    """
    if 0 in (source.bits, target.bits) or source.bits == target.bits:
        return 1.0, 0.0
    if not source.full_range:
        return float(2.0 ** (target.bits - source.bits)), 0.0
    factor = ((1 << target.bits) - 1) / ((1 << source.bits) - 1)
    neutral = (1 << (target.bits - 1)) - factor * (1 << (source.bits - 1))
    return factor, neutral if chroma else 0.0


def quantise(samples: Plane, depth: tuple[float, float], bits: int, out: Plane) -> None:
    """Write factor · samples + offset, rounded (half to even) and clipped to 0 … 2^bits − 1.

    `samples` are (h, w) float32, `out` is (h, w) uint8, uint16 or float32 of the same library;
    `depth` is what `recode` returns. With 0 bits `out` is float32 and gets a copy, and `depth` is
    ignored.
    """
    if bits == 0:
        out[...] = samples
        return
    factor, offset, white = (np.float32(x) for x in (*depth, (1 << bits) - 1))
    if isinstance(out, np.ndarray):
        kept = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
        _round(np.ascontiguousarray(samples), factor, offset, white, kept)
        if kept is not out:
            out[...] = kept
    else:
        xp = library(out)
        out[...] = xp.rint(xp.clip(samples * factor + offset, np.float32(0), white))


@compiled
def _round(samples, factor, offset, white, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.rint(min(max(samples[i, j] * factor + offset, np.float32(0)), white))
