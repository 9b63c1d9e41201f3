"""Detection, step 1, on the GPU: samples → grey and its lightness; the rest starts from both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.frame import Format
from snellen.kernel import Kernel
from snellen.mad.definition import WHITE, Definition
from snellen.mad.lightness import LAST, POWER, K
from snellen.samples import C_TYPES

BLOCK = (32, 8)


class Lightness:
    """The stage for planes of one format.

    Parameters
    ----------
    definition : Definition
    format : Format
    peak : float
        The sample value of white.
    """

    def __init__(self, definition: Definition, format: Format, peak: float):
        self._reference, self._distorted = kernels(definition, format)
        self._factor = WHITE / peak
        self._grid = (-(-format.width // BLOCK[0]), -(-format.height // BLOCK[1]))

    def reference(self, plane: Any, grey: Any, light: Any, varies: Any) -> None:
        """Fill grey 0 … 255 and its lightness, (H, W) float32; set `varies` (1,) where it does."""
        self._reference(self._grid, BLOCK, *self._of(plane), grey, light, varies)

    def distorted(self, plane: Any, reference: Any, grey: Any, error: Any, varies: Any) -> None:
        """Fill grey and by how much its lightness is above that of the `reference` (H, W, grey)."""
        self._distorted(self._grid, BLOCK, *self._of(plane), reference, grey, error, varies)

    def _of(self, plane: Any) -> tuple[Any, ...]:
        height, width = plane.shape
        return plane, plane.strides[0] // plane.itemsize, width, height, self._factor


def kernels(definition: Definition, format: Format) -> tuple[Kernel, Kernel]:
    """Return the kernels for the reference and for the distorted picture, not compiled yet."""
    constants: dict[str, Any] = {
        "sample": C_TYPES[format.dtype.name],
        "power": POWER,
        "gain": K**POWER if definition.variant == "paper" else K,
        "brightest": LAST if definition.eight_bit_lut else 3e38,
    }
    file = Path(__file__).with_suffix(".cu")
    return Kernel(file, "reference", **constants), Kernel(file, "distorted", **constants)
