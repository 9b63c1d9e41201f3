"""Detection of large areas of a single value, for which float32 does not suffice.

In such an area the filters' responses are tiny, but the transforms add rounding errors of the size
of the whole picture's. Skewness and kurtosis are normalised, so they would measure these errors. In
float64 the errors are far below the responses. Of planes in main memory `mad.flat` says the same
before they are sent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.frames.frame import Format
from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import types
from snellen.mad.flat import SIDE

THREADS = 256  # of a block


class Flat:
    """The test of planes of one format."""

    def __init__(self, format: Format, dtype: str):
        self._kernel = kernel(format, dtype)
        self._size = (format.width, format.height)
        self._tiles = (format.width // SIDE, format.height // SIDE)

    def __call__(self, planes: Any, found: Any) -> None:
        """Set `found` (1,) float64 to 1 if a tile of `planes` (count, H, W) has a single value."""
        if min(self._tiles) > 0:
            self._kernel((*self._tiles, len(planes)), THREADS, planes, *self._size, found)


def kernel(format: Format, dtype: str) -> Kernel:
    """Return the kernel, not yet compiled."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "flat", side=SIDE, threads=THREADS,
        **types(dtype, format),
    )  # fmt: skip
