"""Types of the fields of jobs, checked when a job is made: by a caller, or from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cache
from itertools import repeat
from numbers import Integral, Rational, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from snellen.errors import InputError, quoted
from snellen.frames.values import is_name, number, plain

MOST = 2**63 - 1
"""Greatest whole number of a field; most fields have a range of their own."""
_WORDS = {
    bool: "True or False", int: "a whole number", float: "a finite number", str: "text",
    NoneType: "None", Fraction: "a fraction",
}  # fmt: skip


def check_types(value: Any) -> None:
    """Refuse (InputError) a dataclass with a field whose value is of another type than it states.

    Whole numbers and numbers may be of any library. Dataclasses in fields are checked too. Texts
    and numbers of classes derived from Python's become Python's.
    """
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        held = plain(given := getattr(value, name))
        if held is not given:
            object.__setattr__(value, name, held)
        if not _fits(held, hint):
            raise InputError(
                f"got `{name}`={quoted(held)}; expected {_words(hint)}", parameter=name
            )


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple) and _all_fit(value, inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(one, inner[1]) for key, one in value.items()
        )
    if hint is Any:
        return True
    if hint in (int, float, Fraction):
        kind = {int: Integral, float: Real, Fraction: Rational}[hint]
        if not isinstance(value, kind) or isinstance(value, bool):
            return False
        return abs(int(value)) <= MOST if hint is int else number(value) is not None  # type: ignore[call-overload]
    if not isinstance(value, hint):
        return False
    if hint in (str, Path):
        return is_name(str(value))
    if is_dataclass(hint):
        check_types(value)
    return True


def _all_fit(values: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    """Return whether each value of a tuple is of its type, and there are as many as there are."""
    if inner[-1] is Ellipsis:
        return all(map(_fits, values, repeat(inner[0])))
    return len(values) == len(inner) and all(map(_fits, values, inner))


def _words(hint: Any) -> str:
    """Return what a type is called in messages."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(_words, inner))
    if origin is Mapping:
        return f"a mapping of {_words(inner[0])} to {_words(inner[1])}"
    kind = origin or hint
    return _WORDS.get(kind, f"a {kind.__name__}")
