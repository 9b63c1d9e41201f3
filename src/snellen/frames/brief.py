"""Short `repr`s: one line for an object, whatever arrays and lists it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

FEW = 3
"""Elements of a sequence that are shown one by one."""


class Brief:
    """A dataclass whose `repr` names only the fields that differ from their defaults."""

    __slots__ = ()

    def __repr__(self) -> str:
        words = (f"{name}={brief(value)}" for name, value in shown(self))
        return f"{type(self).__name__}({', '.join(words)})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        from snellen.frames.notebook import table

        return table(
            [type(self).__name__, ""], [(name, brief(value)) for name, value in shown(self)]
        )


def shown(value: Brief) -> Iterator[tuple[str, Any]]:
    """Yield the fields that differ from their defaults, by name."""
    for field in fields(value):  # type: ignore[arg-type]  # each subclass is a dataclass
        if field.repr and not _is_default(field, found := getattr(value, field.name)):
            yield field.name, found


def brief(value: Any) -> str:
    """Return what a `repr` says of a value.

    Arrays by type and shape, floats by six digits, long sequences by their length, a path as text.
    """
    if isinstance(value, float):
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


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default_factory is not MISSING:
        default = field.default_factory()
    elif field.default is MISSING:
        return False
    else:
        default = field.default
    return type(value) is type(default) and bool(value == default)
