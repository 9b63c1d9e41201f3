"""Every error that Snellen raises on purpose.

::

    SnellenError
    ├─ InputError      (also ValueError)   wrong use or unusable input             exit code 2
    │  └─ ModelError                       a model file that is wrong or damaged   exit code 2
    ├─ DeviceError     (also RuntimeError) the device asked for cannot be used     exit code 2
    │  └─ DeviceMemoryError                its memory does not suffice             exit code 2
    ├─ OutputError     (also OSError)      the result could not be written         exit code 1
    ├─ IncompleteError (also RuntimeError) what could be decoded is written, not all  exit code 3
    └─ InternalError                    a fault of Snellen itself                   exit code 4

A message says what it got and what it expected, advice says what to do. In both, the name of a
parameter stands in backticks: ``"`psf_size`=0; expected 1 or more"``. Python shows the name alone
(``psf_size=0``); the command line replaces it by its option (``--psf-size 0``) through `worded`.
"""

from __future__ import annotations

import collections
import re
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Self

from snellen.addresses import without_secrets

_NAME = re.compile(r"`([a-z][a-z0-9_]*)`(=True\b|=?)")

LONGEST = 120
"""Characters of a value that a message quotes."""
LONGEST_TEXT, LONGEST_ADVICE = 2000, 800
"""Characters of a message, and of an advice."""
_LONGEST_WORD = 300
"""Characters of a name or another word, in what would be too long."""
_INSIDE = ("snellen", "contextlib", "numpy", "torch")  # decorated functions, calls of modules


def worded(text: str, option: Callable[[str], str]) -> str:
    """Return a text with each parameter's name, which stands in backticks, as `option(name)`.

    Parameters
    ----------
    text : str
        A message of this package: an error's, or a warning's.
    option : callable
        Maps a parameter's name ("psf_size") to the caller's word for it ("--psf-size"). A name
        that it returns unchanged keeps its "=" (``bits=9``); after any other word "=" becomes a
        space (``--psf-size 9``), and "=True" nothing (``--overwrite``).
    """

    def word(found: re.Match[str]) -> str:
        name, equals = found.groups()
        shown = option(name)
        return shown + (equals if shown == name else " " if equals == "=" else "")

    return _NAME.sub(word, text)


def plain(text: str) -> str:
    """Return a text as Python words it: names of parameters without their backticks."""
    return worded(text, lambda name: name)


def caution(text: str) -> None:
    """Warn (UserWarning), in `plain` text, at the line outside this package that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(plain(text), UserWarning, stacklevel=level)


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
        As given; of a text that is too long the middle is left out. A pickled error keeps all
        three.
    """

    exit_code = 1
    """The command line's exit code."""
    result: Any = None
    """The result of a run although something was wrong: an UpscaleResult, DeblurResult or
    ScoreResult; None: there is none."""

    def __init__(
        self, message: object = "", *, parameter: str | None = None, advice: str | None = None
    ) -> None:
        self.message = shortened(message)
        self.parameter = None if parameter is None else shortened(parameter, LONGEST)
        self.advice = None if advice is None else shortened(advice, LONGEST_ADVICE)
        super().__init__(self.message)

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


class DeviceMemoryError(DeviceError):
    """The memory of the GPU, or what can be page-locked, does not suffice."""


class OutputError(SnellenError, OSError):
    """The result could not be written (disk full, no permission); nothing is left behind."""


class IncompleteError(SnellenError, RuntimeError):
    """The input was damaged: what could be decoded is written, and this says what is missing."""

    exit_code = 3


class InternalError(SnellenError):
    """A fault of Snellen itself, where several jobs run; `__cause__` is what was raised."""

    exit_code = 4

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Return the error that says what was raised; its cause is `error`."""
        said = quoted(error, str)
        ours = cls(
            f"a fault of Snellen: {type(error).__name__}{f': {said}' if said else ''}",
            advice="please report it with the output of the same command with --debug",
        )
        ours.__cause__ = error
        return ours


_NO_ROOM = ("can't start new thread", "allocate memory", "failed to map segment")
"""Python's words where memory or threads do not suffice, in errors of other types."""


_ENDED = ("after shutdown", "after interpreter shutdown", "at interpreter shutdown")
"""Python's words where others start threads while the program ends, in RuntimeErrors."""


def unexpected(error: Exception) -> SnellenError:
    """Return an exception of any type as one of ours: itself, if it is."""
    if isinstance(error, SnellenError):
        return error
    ours: SnellenError
    if _is_exhausted(error):
        ours = SnellenError(
            "not enough memory, or threads", advice="a smaller picture or more memory is needed"
        )
    elif has_ended(error):
        ours = SnellenError(ENDED, advice="call this before the main thread ends")
    elif isinstance(error, OSError):
        said = error.strerror or quoted(error, str)
        ours = OutputError(f"{'the system' if error.filename is None else error.filename}: {said}")
    else:
        return InternalError.of(error)
    ours.__cause__ = error
    return ours


def _is_exhausted(error: BaseException) -> bool:
    """Return whether memory or threads did not suffice: this error says so, or one behind it."""
    # Libraries that cannot load another one for want of memory say something else at last.
    return any(
        isinstance(one, MemoryError) or any(words in text for words in _NO_ROOM)
        for one, text in _behind(error)
    )


ENDED = "a library that is needed starts no threads any more: the program has ended"


def has_ended(error: BaseException) -> bool:
    """Return whether a library could start no thread since the main one has ended."""
    return any(
        isinstance(one, RuntimeError) and text.endswith(_ENDED) for one, text in _behind(error)
    )


def _behind(error: BaseException | None) -> Iterator[tuple[BaseException, str]]:
    """Yield an error, and what led to it, each with its text, as long as it may be."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text = ""
        with suppress(Exception):  # of a foreign text
            text = str(error)
        yield error, text
        error = error.__cause__ or error.__context__


def shortened(text: object, most: int = LONGEST_TEXT) -> str:
    """Return a message, or a part of one, with at most so many characters.

    Whatever names and texts of others are in it: of a longer one the middle of long words is left
    out, then the middle of the whole, so that its beginning and its end are there.
    """
    try:
        whole = _brief.repr(text) if isinstance(text, _CONTAINERS) else str(text)
    except Exception:  # of a foreign object
        return f"an object of type {type(text).__name__[:LONGEST]}"
    if len(whole) <= most:
        return whole
    # An address whose secrets are hidden where a line is printed is not found there once it is cut.
    words = re.sub(r"\S+", lambda word: _cut(_shown(word[0]), _LONGEST_WORD), whole)
    return _cut(words, most)


def _cut(text: str, most: int) -> str:
    """Return a text without its middle, if it is longer than `most`."""
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


def quoted(value: object, how: Callable[[Any], str] = repr) -> str:
    """Return what a message says of a value: its `repr`, in one line and not longer than a line.

    Of addresses it has what may be shown: no password and no query. It never fails, whatever the
    value is.
    """
    try:
        if isinstance(value, _CONTAINERS) or (how is repr and isinstance(value, str | bytes)):
            text = _brief.repr(value)
        else:
            text = _shown(how(value))
        text = " ".join(text.split())
    except Exception:  # of a foreign __repr__, or a number of too many digits
        return f"a value of type {type(value).__name__[:LONGEST]}"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _shown(text: str) -> str:
    """Return a text with the addresses among its words as they may be shown."""
    return " ".join(map(without_secrets, text.split())) if "://" in text else text


class _Brief(reprlib.Repr):
    """Short texts of values; addresses lose their secrets before anything is cut off.

    Of containers of any class the first items are shown: of all there may be far too many.
    """

    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(without_secrets(x), level)

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, Mapping):
            return self.repr_dict(dict(islice(x.items(), self.maxdict + 1)), level)
        if isinstance(x, _CONTAINERS):
            return self.repr_list(list(islice(x, self.maxlist + 1)), level)
        text = _shown(repr(x))
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


_CONTAINERS = (list, tuple, set, frozenset, collections.deque, Mapping)
_brief = _Brief()
_brief.maxstring = _brief.maxother = _brief.maxlong = LONGEST
