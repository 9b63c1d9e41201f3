"""What the library says of its settings, in the words of `snellen deblur`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from snellen.errors import InputError

_VALUES = re.compile(
    r"\b(data_range|edges|iterations|noise|prior|psf_size|read_noise|start|tile|tolerance|tv)"
    r"=('?)([^\s',;:]+)\2"
)
_NAMES = re.compile(r"\b(data_range|psf_size|read_noise)\b")
_PHRASES = (
    ("a smaller psf_size", "a smaller --psf-size or --psf"),
    ("a smaller start", "a smaller --psf-start"),
    ("start of shape", "--psf-start of shape"),
)
_PYTHON = re.compile(r" \((?:np|image)\b(?:[^()]|\([^()]*\))*\)")
"""Advice to somebody who has the array at hand."""


def worded(text: str) -> str:
    """Return a message of the library with options for settings, and without Python."""
    text = _PYTHON.sub("", text)
    for name, option in _PHRASES:
        text = text.replace(name, option)
    text = _VALUES.sub(lambda found: f"{_option(found[1])} {found[3]}", text)
    return _NAMES.sub(lambda found: _option(found[1]), text)


@contextmanager
def wording() -> Iterator[None]:
    """Have the errors of the library in the words of the command."""
    try:
        yield
    except InputError as error:
        raise InputError(worded(str(error))) from error


def _option(name: str) -> str:
    return "--psf-start" if name == "start" else f"--{name.replace('_', '-')}"
