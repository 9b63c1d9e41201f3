"""Planes of one size that are denoised by common weights, on the current GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.filters.nlm.definition import (
    BIN,
    BINS,
    BLOCK,
    PATCH,
    QUANTILE,
    SEARCH,
    STEP,
    TAPS,
    Settings,
    limit,
    shift,
    thresholds,
)
from snellen.frames.frame import Format
from snellen.frames.quantise import recode
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel

THREADS = 256
TALL, WIDE = 32 - TAPS + 1, 8 * THREADS // 32
"""Rows and columns of results of a block of `gather`."""


class Group:
    """Luma, or both chroma planes. Owns its scratch: sums of float32 for each sample.

    Parameters
    ----------
    settings : Settings
    planes : slice
        Which planes of a frame.
    source, target : Format
        Of the frames to come and of the results.
    """

    def __init__(self, settings: Settings, planes: slice, source: Format, target: Format):
        import cupy

        shapes = source.shapes[planes]
        self.planes, (self._height, self._width) = planes, shapes[0]
        self._count, self._choose, self._gather = kernels(source, target, len(shapes))
        factor, offset = recode(source, target, chroma=planes.start > 0)
        self._depth = (factor, offset, float((1 << target.bits) - 1))
        self._thresholds = cupy.asarray(thresholds(settings, len(shapes), source.bits))
        self._counts = cupy.zeros(BINS + 1, np.int32)
        self._sums = cupy.empty((len(shapes) + 2, *shapes[0]), np.float32)

    def estimate(self, planes: tuple[Any, ...], threshold: Any) -> None:
        """Compute T and 1 / T of a frame.

        Parameters
        ----------
        planes : tuple of CuPy arrays
            Those of the group, contiguous.
        threshold : (2,) float32
            Output.
        """
        across, down = ((size - 2 * STEP) // BLOCK for size in (self._width, self._height))
        if across > 0 and down > 0:
            grid = (-(-across * BLOCK // THREADS), down, len(planes))
            self._count(grid, THREADS, planes[0], planes[-1], self._width, across, self._counts)
        self._choose(1, THREADS, self._counts, self._thresholds, threshold)

    def denoise(
        self, frames: list[tuple[Any, ...]], given: Any, threshold: Any, out: tuple[Any, ...]
    ) -> None:
        """Denoise the middle one of an odd number of frames.

        Parameters
        ----------
        frames : list of tuples of CuPy arrays
            The group's planes of each frame, contiguous.
        given : (frames,) int32
            0 where there is no such frame: its planes are not read.
        threshold : (2,) float32
            Of the middle frame.
        out : tuple of CuPy arrays
            Output, contiguous.
        """
        middle = len(frames) // 2
        centre = frames[middle]
        grid = (-(-self._width // WIDE), -(-self._height // TALL))
        for number, other in enumerate(frames):
            self._gather(
                grid, THREADS, centre[0], centre[-1], other[0], other[-1], self._width,
                self._height, threshold, given[number:], int(number == middle), int(number == 0),
                int(number == len(frames) - 1), self._sums, out[0], out[-1], *self._depth,
            )  # fmt: skip


def kernels(source: Format, target: Format, planes: int) -> tuple[Kernel, Kernel, Kernel]:
    """Return the kernels count, choose and gather for so many planes, not yet compiled."""
    file = Path(__file__).with_name("nlm.cu")
    constants: dict[str, Any] = {
        "sample": C_TYPES[source.dtype.name],
        "target": C_TYPES[target.dtype.name],
        "planes": planes,
        "shift": shift(source.bits),
        "white": (1 << source.bits - shift(source.bits)) - 1,
        "limit": limit(planes),
        "search": SEARCH,
        "patch": PATCH,
        "step": STEP,
        "block": BLOCK,
        "bin": BIN,
        "bins": BINS,
        "quantile": QUANTILE,
    }
    count, choose, gather = (
        Kernel(file, name, **constants) for name in ("count", "choose", "gather")
    )
    return count, choose, gather
