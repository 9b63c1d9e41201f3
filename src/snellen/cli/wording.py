"""The library's errors about its settings, with the options of `snellen deblur`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from snellen.errors import InputError


@contextmanager
def wording() -> Iterator[None]:
    """Have the errors of the library name the options of the command."""
    try:
        yield
    except InputError as error:
        raise InputError(worded(error)) from error


def worded(error: InputError) -> str:
    """Return an error's text with options for the names of settings."""
    return error.worded(_option)


def _option(name: str) -> str:
    return "--psf-start" if name == "start" else f"--{name.replace('_', '-')}"
