"""Step 1 of both stages on the GPU: samples → grey or lightness, minus a level of the plane.

The level is the mean of some of the plane's samples. No filter passes the mean of a plane; without
the level, float32 has more digits for the rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.frames.arrays import upload
from snellen.frames.frame import Format
from snellen.gpu.kernel import Kernel
from snellen.mad.cuda.precision import literal, types
from snellen.mad.definition import WHITE, Definition
from snellen.mad.lightness import LAST, POWER, K, table

BLOCK = (32, 8)  # threads (x, y) of a block
LATTICE = 16  # samples across, and down, from which the level is computed


class Lightness:
    """The stage for planes of one format, with a table of the lightness of every integer sample.

    Parameters
    ----------
    definition, format, peak, dtype
        As for `backend.Backend`.
    """

    def __init__(self, definition: Definition, format: Format, peak: float, dtype: str):
        self._level, self._grey, self._light, self._error = kernels(definition, format, dtype)
        self._table = upload(table(format.bits, peak, definition)) if format.bits else None
        self._size = (format.width, format.height, np.dtype(dtype).type(WHITE / peak))
        self._grid = (-(-format.width // BLOCK[0]), -(-format.height // BLOCK[1]))

    def grey(self, plane: Any, level: Any, out: Any) -> None:
        """Compute grey, for which white is 255.

        Parameters
        ----------
        plane : (H, W) of the format's dtype, contiguous
            Samples.
        level : (2,) of `dtype`
            Output: the level's sample value, and its lightness.
        out : (H, W) of `dtype`
            Output: grey minus that of the level.
        """
        self._level(1, LATTICE**2, plane, *self._size, self._table, level)
        self._grey(self._grid, BLOCK, plane, *self._size, level, out)

    def light(self, plane: Any, level: Any, out: Any) -> None:
        """Compute lightness minus that of the level; parameters as of `grey`."""
        self._level(1, LATTICE**2, plane, *self._size, self._table, level)
        self._light(self._grid, BLOCK, plane, *self._size, self._table, level, out)

    def error(self, reference: Any, distorted: Any, out: Any) -> None:
        """Compute the lightness of `distorted` minus that of `reference`."""
        self._error(self._grid, BLOCK, reference, distorted, *self._size, self._table, out)


def kernels(definition: Definition, format: Format, dtype: str) -> list[Kernel]:
    """Return the kernels level, grey, light and error, not yet compiled."""
    constants: dict[str, Any] = {
        "table": 1 << format.bits if format.bits else 0,
        "across": LATTICE,
        "power": literal(POWER),
        "gain": literal(K**POWER if definition.variant == "paper" else K),
        "brightest": literal(LAST if definition.eight_bit_lut else 3e38),
        **types(dtype, format),
    }
    file = Path(__file__).with_suffix(".cu")
    return [Kernel(file, name, **constants) for name in ("level", "grey", "light", "error")]
