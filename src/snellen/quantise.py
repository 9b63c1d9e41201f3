"""Float samples to code values."""

from __future__ import annotations

import numba
import numpy as np

from snellen.frame import Format, Plane


def gain(source: Format, target: Format) -> float:
    """Return the factor from code values of one depth to those of another.

    Limited range doubles with each bit (ITU-R BT.2100); full range maps white to white.
    """
    if 0 in (source.bits, target.bits) or source.bits == target.bits:
        return 1.0
    if source.full_range:
        return ((1 << target.bits) - 1) / ((1 << source.bits) - 1)
    return float(2.0 ** (target.bits - source.bits))


def quantise(samples: Plane, factor: float, bits: int, out: Plane) -> None:
    """Write factor · samples to `out`, rounded (half to even) and clipped to 0 … 2^bits − 1.

    Parameters
    ----------
    samples : (h, w) float32
    bits : of `out`; 0: `out` is float32, nothing is rounded or clipped
    out : (h, w) uint8, uint16 or float32
    """
    if bits == 0:
        np.multiply(samples, np.float32(factor), out=out)
    else:
        _round(samples, np.float32(factor), np.float32((1 << bits) - 1), out)


@numba.njit(nogil=True, cache=True)
def _round(samples, factor, white, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.rint(min(max(samples[i, j] * factor, np.float32(0)), white))
