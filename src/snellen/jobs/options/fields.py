"""Types of the fields of jobs, checked when a job is made: by a caller, or from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, repeat
from operator import is_
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from snellen.errors import InputError, quoted
from snellen.frames.values import is_name, plain, real

Rows = tuple[Any, ...]
"""Numbers of an array as nested tuples, rows last: exact, and equal where all numbers are."""
Psf = Path | Rows
"""A PSF in a job: a file, or its rows."""
MOST = 2**63 - 1
"""Greatest whole number of a field; most fields have a range of their own."""
_OTHER: Any = object()
"""A stand-in for a value that a field cannot hold."""
_WORDS = {
    bool: "True or False", int: "a whole number", float: "a finite number", str: "text",
    NoneType: "None", Fraction: "a fraction",
}  # fmt: skip


def check_types(value: Any) -> None:
    """Refuse (InputError) a dataclass with a field whose value is of another type than it states.

    Texts, numbers and truth values may be of any library: they become Python's own, in tuples and
    mappings, too. Dataclasses in fields are checked likewise.
    """
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        held = _held(given := getattr(value, name), hint)
        if held is _OTHER:
            raise InputError(
                f"got `{name}`={quoted(given)}; expected {_words(hint)}", parameter=name
            )
        if held is not given:
            object.__setattr__(value, name, held)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _held(value: Any, hint: Any) -> Any:
    """Return a value as a field of a type holds it; `_OTHER`: it is of another type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, UnionType):
        found = (_held(value, one) for one in inner)
        return next((one for one in found if one is not _OTHER), _OTHER)
    if origin is tuple:
        return _held_tuple(value, inner) if isinstance(value, tuple) else _OTHER
    if origin is Mapping:
        return _held_mapping(value, inner) if isinstance(value, Mapping) else _OTHER
    value = plain(value)
    if hint in (int, float, Fraction):
        return _OTHER if isinstance(value, bool) else _held_number(value, hint)
    if not isinstance(value, hint) or (hint in (str, Path) and not is_name(str(value))):
        return _OTHER
    if is_dataclass(hint):
        check_types(value)
    return value


def _held_number(value: Any, hint: type) -> Any:
    """Return a plain value as a number: whole, finite or a fraction."""
    if hint is int:
        return value if isinstance(value, int) and abs(value) <= MOST else _OTHER
    if hint is Fraction and not isinstance(value, int | Fraction):
        return _OTHER
    if (found := real(value)) is None:
        return _OTHER
    return value if hint is Fraction else found


def _held_tuple(values: tuple[Any, ...], inner: tuple[Any, ...]) -> Any:
    """Return a tuple whose values are as their types hold them, if there are as many as these."""
    if inner[-1] is Ellipsis:
        if inner[0] is Any:
            return values
    elif len(values) != len(inner):
        return _OTHER
    hints = repeat(inner[0]) if inner[-1] is Ellipsis else inner
    held = tuple(map(_held, values, hints))
    if any(one is _OTHER for one in held):
        return _OTHER
    return values if all(map(is_, held, values)) else held


def _held_mapping(values: Mapping[Any, Any], inner: tuple[Any, ...]) -> Any:
    """Return a mapping whose keys and values are as their types hold them."""
    try:
        pairs = list(values.items())
    except Exception:  # of any library
        return _OTHER
    held = [(_held(key, inner[0]), _held(one, inner[1])) for key, one in pairs]
    if any(one is _OTHER for pair in held for one in pair):
        return _OTHER
    same = all(map(is_, chain.from_iterable(held), chain.from_iterable(pairs)))
    return values if same else dict(held)


def _words(hint: Any) -> str:
    """Return what a type is called in messages."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(_words, inner))
    if origin is Mapping:
        return f"a mapping of {_words(inner[0])} to {_words(inner[1])}"
    kind = origin or hint
    return _WORDS.get(kind, f"a {kind.__name__}")
