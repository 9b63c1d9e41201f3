"""Values in few words, for `repr`s and for tables in notebooks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

FEW = 3
"""Elements of a sequence that are shown one by one."""


def brief(value: Any) -> str:
    """Return what a `repr` says of a value.

    Arrays by type and shape, floats by six digits, as fractions that equal one, long sequences by
    their length, a path as text.
    """
    if isinstance(value, float) or (isinstance(value, Fraction) and value == float(value)):
        return f"{float(value):.6g}"
    if isinstance(value, Path):
        return repr(str(value))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"<{value.dtype} {tuple(value.shape)}>"
    if isinstance(value, dict) and len(value) > FEW:
        return f"<{len(value)} entries>"
    if isinstance(value, tuple | list):
        if len(value) > FEW:
            return f"<{len(value)} × {type(value[0]).__name__}>"
        inside = ", ".join(map(brief, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)
