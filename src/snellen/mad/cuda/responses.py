"""Appearance, step 1, on the GPU for any size: filters, then inverse transforms by cuFFT."""

from __future__ import annotations

from typing import Any

from snellen.fft.plan import Plan
from snellen.gpu.profile import stage
from snellen.mad.cuda.loggabor import Bank
from snellen.mad.cuda.precision import COMPLEX


class Responses:
    """The subbands of planes of one size.

    Parameters
    ----------
    height, width : int
    dtype : str
        "float32" or "float64".
    sizes : set of int
        How many subbands there may be at a time.
    """

    def __init__(self, height: int, width: int, dtype: str, sizes: set[int]):
        import cupy

        self._bank = Bank(height, width, dtype)
        self._inverse = {size: Plan("inverse", height, width, dtype, size) for size in sizes}
        self.scratch = cupy.empty((max(sizes), height, width), COMPLEX[dtype])

    def __call__(self, spectrum: Any, part: range) -> Any:
        """Compute some subbands.

        Parameters
        ----------
        spectrum : (H, W // 2 + 1) complex
            Half spectrum of a real plane.
        part : range
            Numbers of the filters.

        Returns
        -------
        (count, H, W) complex
            The next call overwrites it.
        """
        bands = self.scratch[: len(part)]
        with stage("filters"):
            self._bank(spectrum, part.start, bands)
        with stage("inverse FFTs"):
            self._inverse[len(part)](bands, bands)
        return bands
