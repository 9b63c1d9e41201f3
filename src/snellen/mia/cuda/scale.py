"""The sums of f and h before and after the iterations of `fused`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.gpu.device import over
from snellen.gpu.kernel import Kernel

THREADS = 512
TINY = 1e-30
"""Least sum of a PSF by which it is divided."""

NAMES = ("scale_start", "scale_psf")


class Scale:
    """Copies what the iterations start from, and returns the PSFs that they end with.

    Work is queued on CuPy's current stream, and nothing waits for it.
    """

    def __init__(self) -> None:
        self._start, self._psf = kernels()

    def start(self, given: tuple[Any, Any, Any], y: Any, f: Any, first: Any, h: Any) -> None:
        """Copy y and f; scale h to sum 1 in `first`, and to about the sum of f in `h`.

        The latter's factor is a power of two, so that it rounds nothing.

        Parameters
        ----------
        given : (B, M, H, W), (B, H, W) and (B, M, H, W) CuPy arrays
            y, f and h; h may have fewer elements and is repeated then.
        y, first, h : (B, M, H, W) float32
        f : (B, 2, H, W) float32
            [:, 0] is written.
        """
        import cupy

        batch, frames, *period = y.shape
        shapes = y.shape, (batch, *period), h.shape
        sources = [
            cupy.ascontiguousarray(cupy.broadcast_to(one, shape), np.float32)
            for one, shape in zip(given, shapes, strict=True)
        ]
        self._start(
            batch * frames, THREADS, *sources, frames, period[0] * period[1], y, f, first, h
        )

    def psf(self, h: Any, first: Any) -> Any:
        """Return each plane of h (B, M, H, W) divided by its sum; that of `first` where it is 0."""
        import cupy

        planes, size = h.shape[0] * h.shape[1], h.shape[2] * h.shape[3]
        totals, out = h.sum((2, 3)), cupy.empty_like(h)
        self._psf(over(size, planes, THREADS), THREADS, h, first, totals, planes, size, out)
        return out


def kernels() -> list[Kernel]:
    """Return the kernels in the order of NAMES, not compiled yet."""
    file = Path(__file__).with_suffix(".cu")
    return [Kernel(file, name, threads=THREADS, tiny=TINY) for name in NAMES]
