"""Detection, step 1, on the GPU: samples → grey and lightness, above a level of the plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.frame import Format
from snellen.kernel import Kernel
from snellen.mad.definition import WHITE, Definition
from snellen.mad.lightness import LAST, POWER, K, table
from snellen.samples import C_TYPES

BLOCK = (32, 8)
LATTICE = 16  # samples across and down of which the level is made


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

        self._level, self._reference, self._distorted = kernels(definition, format)
        self._table = cupy.asarray(table(format.bits, peak, definition)) if format.bits else None
        self._given = (format.width, format.height, WHITE / peak, self._table)
        self._grid = (-(-format.width // BLOCK[0]), -(-format.height // BLOCK[1]))

    def reference(self, plane: Any, level: Any, grey: Any, light: Any) -> None:
        """Make grey and lightness.

        Parameters
        ----------
        plane : (H, W) of the format's type, contiguous
        level : (2,) float32
            Out: a value of the plane's samples, and its lightness.
        grey, light : (H, W) float32
            Out: grey (white is 255) and lightness, each above that level's.
        """
        self._level(1, LATTICE**2, plane, *self._given, level)
        self._reference(self._grid, BLOCK, plane, *self._given, level, grey, light)

    def distorted(self, plane: Any, reference: Any, level: Any, grey: Any, error: Any) -> None:
        """Make grey, and by how much lightness is above that of `reference`, samples as well.

        Parameters as those of `reference`.
        """
        self._level(1, LATTICE**2, plane, *self._given, level)
        self._distorted(self._grid, BLOCK, plane, *self._given, level, reference, grey, error)


def kernels(definition: Definition, format: Format) -> tuple[Kernel, Kernel, Kernel]:
    """Return the kernels for the level, the reference and the distorted picture, not compiled."""
    constants: dict[str, Any] = {
        "sample": C_TYPES[format.dtype.name],
        "table": format.bits > 0,
        "across": LATTICE,
        "power": POWER,
        "gain": K**POWER if definition.variant == "paper" else K,
        "brightest": LAST if definition.eight_bit_lut else 3e38,
    }
    file = Path(__file__).with_suffix(".cu")
    level, reference, distorted = (
        Kernel(file, name, **constants) for name in ("level", "reference", "distorted")
    )
    return level, reference, distorted
