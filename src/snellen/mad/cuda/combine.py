"""Last step on the GPU: maps, their root mean squares, and the score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.frames.frame import Format
from snellen.gpu.kernel import Kernel
from snellen.mad.combine import B1, B2
from snellen.mad.cuda.precision import types
from snellen.mad.definition import BLOCK, MARGIN, STEP, WHITE, Definition, grid
from snellen.mad.error import BEFORE

THREADS = 256
TILES = {"float32": (64, 32), "float64": (64, 16)}
"""Pixels (across, down) of a block of the kernel `detection`; they fit any GPU's shared memory."""


class Combine:
    """The stage for planes of one format, with buffers for its partial sums.

    Parameters
    ----------
    definition, format, peak, dtype
        As for `backend.Backend`.
    """

    def __init__(self, definition: Definition, format: Format, peak: float, dtype: str):
        import cupy

        self._detection, self._appearance, self._expand, self._score = kernels(format, dtype)
        height, width = self._height, self._width = format.height, format.width
        self._factor = np.dtype(dtype).type(WHITE / peak)
        self._hi_scale = definition.hi_scale
        self._rows, self._columns = grid(height, width)
        across, down = TILES[dtype]
        self._tiles = (-(-width // across), -(-height // down))
        self._parts = -(-self._rows * self._columns // THREADS)
        self._hi = cupy.empty(self._tiles[0] * self._tiles[1], cupy.float64)
        self._lo = cupy.empty(self._parts, cupy.float64)
        self._pixels = float((height - sum(MARGIN)) * (width - sum(MARGIN)))

    def detection(self, reference: Any, distorted: Any, mask: Any, map: Any | None) -> None:
        """Sum the squares of the detection map, mask × local mean squared error.

        Parameters
        ----------
        reference, distorted : (H, W) of the format's dtype
            Samples, contiguous.
        mask : (rows, columns) of `dtype`
            Visibility of the error in each block, as `Masking.visibility` computes it.
        map : (H, W) of `dtype`, or None
            Output: the map.
        """
        self._detection(
            self._tiles, THREADS, reference, distorted, self._width, self._height, self._factor,
            mask, self._rows, self._columns, map, self._hi,
        )  # fmt: skip

    def appearance(self, planes: Any) -> None:
        """Sum the squares of the appearance map.

        Parameters
        ----------
        planes : (count, rows, columns) of `dtype`
            Differences of the subbands. The first plane is overwritten by their sum, the map.
        """
        self._appearance(
            self._parts, THREADS, planes, len(planes), self._rows, self._columns, self._width,
            self._height, self._lo,
        )  # fmt: skip

    def expand(self, plane: Any, map: Any) -> None:
        """Fill a map (H, W) from a plane (rows, columns) of values of blocks; 0 beyond blocks."""
        grid = (-(-self._width // 32), -(-self._height // 8))
        self._expand(
            grid, THREADS, plane, self._rows, self._columns, map, self._width, self._height
        )

    def score(self, out: Any) -> None:
        """Write MAD, HI and LO of the last sums to `out` (3,) float64."""
        doubles = (np.float64(x) for x in (self._pixels, self._hi_scale, B1, B2))
        self._score(1, THREADS, self._hi, self._hi.size, self._lo, self._lo.size, *doubles, out)


def kernels(format: Format, dtype: str) -> tuple[Kernel, ...]:
    """Return the kernels detection, appearance, expand and score, not yet compiled."""
    file = Path(__file__).with_suffix(".cu")
    across, down = TILES[dtype]
    constants: dict[str, Any] = {
        "step": STEP, "side": BLOCK, "before": BEFORE, "top_left": MARGIN[0],
        "bottom_right": MARGIN[1], "across": across, "down": down, "threads": THREADS,
        **types(dtype, format),
    }  # fmt: skip
    return (
        *(Kernel(file, name, **constants) for name in ("detection", "appearance", "expand")),
        Kernel(file, "score", spills=8, **constants),  # powers in float64 use 8 bytes of stack
    )
