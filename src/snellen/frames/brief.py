"""Short `repr`s: one line for an object, whatever arrays and lists it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field
from typing import Any

from snellen.frames.brief_values import brief
from snellen.schema import ordered

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
        from snellen.frames.notebook import table

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
