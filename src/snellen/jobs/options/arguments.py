"""Signatures and docstrings of the functions that take the options of a job by their names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from textwrap import fill
from typing import Any, ParamSpec, TypeVar

from snellen.schema import Parameter, parameters

P = ParamSpec("P")
R = TypeVar("R")

_MARK = re.compile(r"^\*\*options\n    .*$", re.MULTILINE)
"""Stands in a docstring where the options come."""
_WORDS = {
    "Any": "object", "File": "str | Path", "Psf": "str | Path | array", "Method": "str",
    "SourceKind": "str", "Time": "float | str | Fraction",
}  # fmt: skip
"""Words of docstrings for types."""


def takes(what: type | Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of a function that takes the options of a job's type as `**options`.

    Its signature and its docstring name each; those that the function names itself stay as they
    are, the ones that only keywords give at the end. `what` may also be the function for one file
    of a function for several, which takes the same.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        given = inspect.signature(function)
        known, name = _signature(given, what), function.__qualname__

        @wraps(function)
        def checked(*arguments: P.args, **options: P.kwargs) -> R:
            for one in options:
                if one not in known.parameters:
                    from difflib import get_close_matches

                    near = get_close_matches(one, known.parameters, 1)
                    meant = f". Did you mean {near[0]!r}?" if near else ""  # as Python says it
                    raise TypeError(f"{name}() got an unexpected keyword argument {one!r}{meant}")
            return function(*arguments, **options)

        checked.__signature__ = known  # type: ignore[attr-defined]
        if function.__doc__ and isinstance(what, type):
            checked.__doc__ = _documented(inspect.cleandoc(function.__doc__), what)
        return checked

    return decorate


def _signature(given: inspect.Signature, what: type | Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function with the options in the place of `**options`."""
    if isinstance(what, type):
        found = [(one.name, one.default, one.type) for one in parameters(what).values()]
    else:
        of_one = list(inspect.signature(what).parameters.values())[2:]  # behind source and target
        found = [(one.name, one.default, one.annotation) for one in of_one]
    own = [one for one in given.parameters.values() if one.kind is not one.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, default, kind in found
        if name not in given.parameters
    ]
    only = [one for one in own if one.kind is one.KEYWORD_ONLY]
    first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
    return given.replace(parameters=[*first, *options, *only])


def _documented(text: str, kind: type) -> str:
    found = _MARK.search(text)
    assert found is not None
    lines = [
        described(one)
        for name, one in parameters(kind).items()
        if not re.search(rf"^{name} : ", text, re.MULTILINE)
    ]
    return text[: found.start()] + "\n".join(lines) + text[found.end() :]


def described(one: Parameter) -> str:
    """Return what a docstring says of a parameter."""
    text = re.sub(r"`(\w+)`=(\w+)", r"``\1=\2``", one.text)  # as reStructuredText wants it
    words = fill(text, 100, initial_indent="    ", subsequent_indent="    ")
    return f"{one.name} : {_type_of(one)}\n{words}"


def _type_of(one: Parameter) -> str:
    """Return what a docstring calls a parameter's type."""
    text = one.held if one.type == "Any" else one.type
    for name, longer in _WORDS.items():
        text = re.sub(rf"\b{name}\b", longer, text)
    found = dict.fromkeys(re.split(r" \| (?![^\[]*\])", text))
    optional = found.pop("None", "") is None
    if one.about.choices and set(found) == {"str"}:
        found = {"{" + ", ".join(f'"{word}"' for word in one.about.choices) + "}": None}
    *most, last = found
    words = f"{', '.join(most)} or {last}" if most else last
    return words + ", optional" * optional
