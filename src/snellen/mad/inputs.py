"""The inputs of a Scorer: planes, and pairs of them; each is checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from snellen.errors import InputError, quoted
from snellen.frames.frame import Format
from snellen.frames.placement import taken


def plane(given: Any, format: Format, devices: tuple[str, ...]) -> Any:
    """Return a plane for a backend: of NumPy, or of CuPy on the first device of the Scorer.

    Planes of a Scorer that is prepared for floats may be float32 or float64. InputError: another
    shape, type or place.
    """
    advice = "use snellen.score for arrays of other libraries"
    found = taken(given, ",".join(devices), "plane", "Scorer", advice=advice)
    shape, types = format.shapes[0], [format.dtype]
    if format.bits == 0:
        types.append(np.dtype(np.float64))
    if found.shape != shape or found.dtype not in types:
        raise InputError(
            f"got a plane {found.shape} of {found.dtype}; prepared for {shape} of "
            f"{' or '.join(map(str, types))}",
            advice="prepare again",
        )
    return found


def pairs(given: Any) -> Iterator[Any]:
    """Return an iterator over pairs, which are not checked yet (InputError: there is none)."""
    try:
        found: Iterator[Any] = iter(given)
    except Exception as error:
        raise InputError(f"got {quoted(given)}; expected pairs (reference, distorted)") from error
    return found


def pair(given: Any) -> tuple[Any, Any]:
    """Return reference and distorted plane of a pair (InputError: it is none)."""
    is_sequence = isinstance(given, tuple | list) or getattr(given, "ndim", 0) == 3
    if not is_sequence or len(given) != 2:
        raise InputError(
            f"got {quoted(type(given).__name__, str)} as a pair; expected (reference, distorted)"
        )
    reference, distorted = given
    return reference, distorted
