"""Short `repr`s: one line for an object, whatever arrays and lists it holds; and tables in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, Field
from fractions import Fraction
from pathlib import Path
from typing import Any

from snellen.schema import ordered

FEW = 3
"""Elements of a sequence that are shown one by one."""
ROWS = 10
"""Rows of a table that are shown."""
FLAT = {"flat": True}
"""Metadata of a field that holds a mapping: its entries are shown as fields."""


class Brief:
    """A dataclass whose `repr` names only the fields that differ from their defaults."""

    __slots__ = ()

    def __repr__(self) -> str:
        words = (f"{name}={brief(value)}" for name, value in shown(self))
        return f"{type(self).__name__}({', '.join(words)})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        return table(
            [type(self).__name__, ""], [(name, brief(value)) for name, value in shown(self)]
        )


def shown(value: Brief) -> Iterator[tuple[str, Any]]:
    """Yield the fields that differ from their defaults, by name."""
    for field in ordered(type(value)):
        if field.metadata == FLAT:
            yield from getattr(value, field.name).items()
        elif field.repr and not _is_default(field, found := getattr(value, field.name)):
            yield field.name, found


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default_factory is not MISSING:
        default = field.default_factory()
    elif field.default is MISSING:
        return False
    else:
        default = field.default
    return type(value) is type(default) and bool(value == default)


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


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; of many rows the first ones, and how many follow."""
    every = list(rows)
    lines = [_row("th", head)] if head else []
    lines += [_row("td", row) for row in every[:ROWS]]
    if (more := len(every) - ROWS) > 0:
        lines.append(_row("td", [f"… {more} more"]))
    return f"<table>{''.join(lines)}</table>"


def _row(kind: str, cells: Iterable[object]) -> str:
    from html import escape  # which most runs do without

    inside = "".join(
        f"<{kind}>{escape(one if isinstance(one, str) else brief(one))}</{kind}>" for one in cells
    )
    return f"<tr>{inside}</tr>"
