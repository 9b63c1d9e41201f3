"""Every error that Snellen raises on purpose.

::

    SnellenError
    ├─ InputError      (also ValueError)   wrong use or unusable input             exit code 2
    │  └─ ModelError                       a model file that is wrong or damaged   exit code 2
    ├─ DeviceError     (also RuntimeError) the device asked for cannot be used     exit code 2
    ├─ OutputError     (also OSError)      the result could not be written         exit code 1
    └─ IncompleteError (also RuntimeError) what could be decoded is written, not all  exit code 3

A message says what it got and what it expected, advice says what to do. In both, the name of a
parameter stands in backticks: ``"`psf_size`=0; expected 1 or more"``. Python shows the name alone
(``psf_size=0``); the command line replaces it by its option (``--psf-size 0``) through `worded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Self

_NAME = re.compile(r"`([a-z][a-z0-9_]*)`(=?)")


def worded(text: str, option: Callable[[str], str]) -> str:
    """Return a text with each parameter's name, which stands in backticks, as `option(name)`.

    Parameters
    ----------
    text : str
        A message of this package: an error's, or a warning's.
    option : callable
        Maps a parameter's name ("psf_size") to the caller's word for it ("--psf-size"). A name
        that it returns unchanged keeps its "=" (``bits=9``); after any other word "=" becomes a
        space (``--psf-size 9``).
    """

    def word(found: re.Match[str]) -> str:
        name, equals = found.groups()
        shown = option(name)
        return shown + (equals if shown == name else " " * len(equals))

    return _NAME.sub(word, text)


def plain(text: str) -> str:
    """Return a text as Python words it: names of parameters without their backticks."""
    return worded(text, lambda name: name)


class SnellenError(Exception):
    """Base of all errors of this package.

    Parameters
    ----------
    message : str
        What the error got and what it expected. Names of parameters stand in backticks.
    parameter : str, optional
        Name of the parameter at fault, as Python spells it: "psf_size".
    advice : str, optional
        What the user can do, with the same markup. It follows the message after a semicolon.

    Attributes
    ----------
    message, parameter, advice
        As given. A pickled error keeps all three.
    """

    exit_code = 1
    """Of the command line."""
    result: Any = None
    """What a run returned although something was wrong: an UpscaleResult, DeblurResult or
    ScoreResult; None: there is none."""

    def __init__(
        self, message: object = "", *, parameter: str | None = None, advice: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = str(message)
        self.parameter = parameter
        self.advice = advice

    def __str__(self) -> str:
        return plain(self.text)

    def worded(self, option: Callable[[str], str]) -> str:
        """Return message and advice in the caller's words; `option` is as for `errors.worded`."""
        return worded(self.text, option)

    @property
    def text(self) -> str:
        """Message and advice, with names of parameters in backticks."""
        return self.message if self.advice is None else f"{self.message}; {self.advice}"

    def about(self, name: object) -> Self:
        """Return the same error with a file's name and a colon before its message."""
        return type(self)(f"{name}: {self.message}", parameter=self.parameter, advice=self.advice)

    def renamed(self, **names: str) -> Self:
        """Return the same error with parameters renamed: ``start="psf_start"``."""

        def other(text: str) -> str:
            return _NAME.sub(lambda found: f"`{names.get(found[1], found[1])}`{found[2]}", text)

        parameter = None if self.parameter is None else names.get(self.parameter, self.parameter)
        advice = None if self.advice is None else other(self.advice)
        return type(self)(other(self.message), parameter=parameter, advice=advice)


class InputError(SnellenError, ValueError):
    """Wrong use, or an input that cannot be used."""

    exit_code = 2


class ModelError(InputError):
    """A model file that is missing, damaged or not a model of ours."""


class DeviceError(SnellenError, RuntimeError):
    """The requested device does not exist here or cannot be used."""

    exit_code = 2


class OutputError(SnellenError, OSError):
    """The result could not be written (disk full, no permission); nothing is left behind."""


class IncompleteError(SnellenError, RuntimeError):
    """The input was damaged: what could be decoded is written, and this says what is missing."""

    exit_code = 3
