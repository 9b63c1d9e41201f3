"""Whether a picture has areas where float32 does not suffice: large ones of a single value.

Far from anything that varies, responses are small but for the rounding of the transforms, which is
that of the whole picture; and skewness and kurtosis do not ask how small a response is. In float64
that rounding is far below them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.frames.frame import Format
from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import types

SIDE = 64  # samples of a tile's side: in narrower areas float32 is within 1e-5 still
THREADS = 256


class Flat:
    """The look at planes of one format."""

    def __init__(self, format: Format, dtype: str):
        self._kernel = kernel(format, dtype)
        self._size = (format.width, format.height)
        self._tiles = (format.width // SIDE, format.height // SIDE)

    def __call__(self, planes: Any, found: Any) -> None:
        """Set `found` (1,) float64 to 1 where a tile of `planes` (count, H, W) has one value."""
        if min(self._tiles) > 0:
            self._kernel((*self._tiles, len(planes)), THREADS, planes, *self._size, found)


def kernel(format: Format, dtype: str) -> Kernel:
    """Return the kernel, not compiled yet."""
    return Kernel(
        Path(__file__).with_suffix(".cu"), "flat", side=SIDE, threads=THREADS,
        **types(dtype, format),
    )  # fmt: skip
