"""The precision in which the GPU computes, and the macros that give kernels their types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from snellen.frames.frame import Format
from snellen.gpu.c_types import C_TYPES

SMALL = 1 << 17
"""Greatest number of pixels for which float64 is the default; it costs next to nothing there. The
coarsest filters are longer than such a picture, so their responses are nearly constant, and float32
would leave too few digits for the statistics."""

COMPLEX = {"float32": np.complex64, "float64": np.complex128}


def chosen(height: int, width: int) -> str:
    """Return the default precision for planes of a size, "float32" or "float64"."""
    return "float64" if height * width <= SMALL else "float32"


def types(dtype: str, format: Format | None = None) -> dict[str, Any]:
    """Return the macros for a kernel's types, with that of samples if a format is given."""
    found = {"real": C_TYPES[dtype], "complex": f"{C_TYPES[dtype]}2"}
    return found | ({"sample": C_TYPES[samples(format, dtype).name]} if format else {})


def samples(format: Format, dtype: str) -> np.dtype[Any]:
    """Return the dtype of samples on the GPU: float samples have the precision of the method."""
    return format.dtype if format.bits else np.dtype(dtype)


def literal(value: float) -> str:
    """Return a number as a C literal of the kernel's precision, the macro REAL."""
    return f"REAL({float(value)!r})"


def row(values: Iterable[float]) -> str:
    """Return numbers as the initialiser of a C array."""
    return "{" + ", ".join(literal(value) for value in values) + "}"
