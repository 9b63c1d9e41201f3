"""In which precision the GPU computes, and how kernels are told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from snellen.frames.frame import Format
from snellen.gpu.c_types import C_TYPES

SMALL = 1 << 17
"""Pixels up to which float64 is taken, where it costs next to nothing. There the coarsest filters
are longer than the picture: their responses are nearly constant, and float32 would leave too few
digits to the statistics."""

COMPLEX = {"float32": np.complex64, "float64": np.complex128}


def chosen(height: int, width: int) -> str:
    """Return the precision for planes of a size, where nobody asks for one."""
    return "float64" if height * width <= SMALL else "float32"


def types(dtype: str, format: Format | None = None) -> dict[str, Any]:
    """Return the constants that tell a kernel its types, that of samples if it reads some."""
    names = {**C_TYPES, "float64": "double"}
    found = {"real": names[dtype], "complex": f"{names[dtype]}2"}
    return found | ({"sample": names[samples(format, dtype).name]} if format else {})


def samples(format: Format, dtype: str) -> np.dtype[Any]:
    """Return the type of samples in the GPU's memory: float ones are of its precision."""
    return format.dtype if format.bits else np.dtype(dtype)


def literal(value: float) -> str:
    """Return a constant of whichever precision the kernel has."""
    return f"REAL({float(value)!r})"


def row(values: Iterable[float]) -> str:
    """Return an array of such constants."""
    return "{" + ", ".join(literal(value) for value in values) + "}"
