"""Detection, step 1, on the GPU: samples → grey and its lightness; the rest starts from both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.frame import Format
from snellen.kernel import Kernel
from snellen.mad.definition import WHITE, Definition
from snellen.mad.lightness import LAST, POWER, K, table
from snellen.samples import C_TYPES

BLOCK = (32, 8)


class Lightness:
    """The stage for planes of one format; holds the lightness of every integer sample.

    Parameters
    ----------
    definition : Definition
    format : Format
    peak : float
        The sample value of white.
    """

    def __init__(self, definition: Definition, format: Format, peak: float):
        import cupy

        self._reference, self._distorted = kernels(definition, format)
        self._size = (format.width, format.height)
        self._factor = WHITE / peak
        self._table = cupy.asarray(table(format.bits, peak, definition)) if format.bits else None
        self._grid = (-(-format.width // BLOCK[0]), -(-format.height // BLOCK[1]))

    def reference(self, plane: Any, grey: Any, light: Any, varies: Any) -> None:
        """Make grey and lightness.

        Parameters
        ----------
        plane : (H, W) of the format's type, contiguous
        grey, light : (H, W) float32
            0 … 255, and its lightness.
        varies : (1,) int32
            Set to 1 where not all samples are alike.
        """
        self._reference(
            self._grid, BLOCK, plane, *self._size, self._factor, self._table, grey, light, varies
        )

    def distorted(self, plane: Any, reference: Any, grey: Any, error: Any, varies: Any) -> None:
        """Make grey, and by how much its lightness is above that of `reference`, samples as well.

        Parameters as those of `reference`.
        """
        self._distorted(
            self._grid, BLOCK, plane, *self._size, self._factor, self._table, reference, grey,
            error, varies,
        )  # fmt: skip


def kernels(definition: Definition, format: Format) -> tuple[Kernel, Kernel]:
    """Return the kernels for the reference and for the distorted picture, not compiled yet."""
    constants: dict[str, Any] = {
        "sample": C_TYPES[format.dtype.name],
        "table": format.bits > 0,
        "power": POWER,
        "gain": K**POWER if definition.variant == "paper" else K,
        "brightest": LAST if definition.eight_bit_lut else 3e38,
    }
    file = Path(__file__).with_suffix(".cu")
    return Kernel(file, "reference", **constants), Kernel(file, "distorted", **constants)
