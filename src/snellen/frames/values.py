"""Checks of single values that callers give: their type first, then their range.

A value of any type gives an InputError or the value itself, never another exception: objects whose
methods fail, numbers of a thousand digits, arrays, NaN.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from math import isfinite
from numbers import Integral, Rational, Real
from pathlib import Path
from types import NoneType, NotImplementedType
from typing import Any, Literal, get_args

from snellen.errors import InputError, quoted
from snellen.frames.limits import memory
from snellen.schema import parameters

MOST = 2**31 - 1
"""Greatest whole number of any parameter, unless it says otherwise."""
FEW = 1 << 26
"""Bytes of memory that any process has that runs this package."""
LONGEST = 4096
"""Bytes of the name of a file, with its folders."""
Precision = Literal["float32", "float64"]
_PLAIN = frozenset((str, int, float, bool, NoneType))


def _of_numpy(name: str) -> Any:
    """Return a type of NumPy; where nobody has imported it, one that no value has."""
    return getattr(sys.modules.get("numpy"), name, NotImplementedType)


def plain(value: Any) -> Any:
    """Return a text, a number or a truth value of any library as Python's own.

    Those of derived classes compare as they like, and those of few bits overflow. A fraction is
    one of Python's integers. Anything else is returned as it is.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | _of_numpy("bool_")):
        return bool(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if not isinstance(value, Real) or isinstance(value, _of_numpy("timedelta64")):
        return value
    try:
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        return float(value)
    except Exception:  # of any library
        return value


def whole(name: str, value: object, least: int = 1, most: int = MOST) -> int:
    """Return a whole number of any library (InputError: it is none, or out of its range)."""
    found = integer(value)
    if found is not None and least <= found <= most:
        return found
    large = found is not None and found > most
    range_ = f"{least} or more" if most >= MOST and not large else f"{least} to {most}"
    raise InputError(
        f"got `{name}`={quoted(value)}; expected a whole number, {range_}", parameter=name
    )


def check_options(job: Any, *names: str, most: int = MOST) -> None:
    """Refuse (InputError) values that the options of a dataclass do not take; as of `checked`.

    The others become Python's own. No names: all of its own that have choices or a range.
    """
    known = parameters(type(job))
    ranged = (
        name for name, one in known.items() if one.about.choices or one.about.least is not None
    )
    for name in names or ranged:
        object.__setattr__(job, name, checked(type(job), name, getattr(job, name), most))


def checked(kind: type, name: str, value: Any, most: int = MOST) -> Any:
    """Return the value of an option (InputError: none of its choices, or out of its range).

    A default None passes. `most` is for whole numbers whose option has no greatest one.
    """
    one = parameters(kind)[name]
    about = one.about
    if value is None and one.default is None:
        return None
    if about.choices:
        return choice(name, value, about.choices)
    assert about.least is not None
    return whole(name, value, about.least, about.most or most)


def integer(value: object) -> int | None:
    """Return a whole number of any library as an int; None: it is none."""
    if not isinstance(value, Integral) or isinstance(value, bool | _of_numpy("timedelta64")):
        return None
    try:
        return int(value)
    except Exception:  # of any library
        return None


def number(value: object) -> float | None:
    """Return a finite real number of any library as a float; None: it is none."""
    if not isinstance(value, Real) or isinstance(value, bool | _of_numpy("timedelta64")):
        return None
    try:
        found = float(value)
    except Exception:  # too large; of any library
        return None
    return found if isfinite(found) else None


def real(value: object) -> int | float | None:
    """Return a finite real number of any library as an int or a float; None: it is none."""
    found = number(value)
    return found if integer(value) is None or found is None else integer(value)


def decimal(text: str, most: int = MOST) -> int | None:
    """Return the whole number that ASCII digits are; None: they are none, or above `most`.

    Python's own conversion refuses thousands of digits by an error.
    """
    digits = text.lstrip("0") or text[-1:]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(most)):
        return None
    found = int(digits)
    return found if found <= most else None


def flag(name: str, value: object) -> bool:
    """Return True or False (InputError: it is neither)."""
    if not isinstance(value, bool | _of_numpy("bool_")):
        raise InputError(f"got `{name}`={quoted(value)}; expected True or False", parameter=name)
    return bool(value)


def function(name: str, value: object) -> None:
    """Refuse (InputError) what can neither be called nor is None."""
    if value is not None and not callable(value):
        raise InputError(
            f"got `{name}`={quoted(value)}; expected a function, or None", parameter=name
        )


def choice(name: str, value: object, allowed: Collection[str], also: str = "") -> str:
    """Return one of several words (InputError: another one, or no text).

    `also` is what else the caller would have taken, for the message: ", or None".
    """
    word = plain(value) if isinstance(value, str) else ""
    if word not in allowed:
        raise InputError(
            f"got `{name}`={quoted(value)}; expected one of {', '.join(allowed)}{also}",
            parameter=name,
        )
    return str(word)


def precision(dtype: object) -> str:
    """Return the name of a precision (InputError: there is no such)."""
    return choice("dtype", dtype, get_args(Precision), ", or None")


def text(name: str, value: object, expected: str = "text") -> str:
    """Return a text that any library takes (InputError: no text, NUL or no UTF-8 in it)."""
    if isinstance(value, str):
        word = str.__str__(value)  # of a class derived from str
        try:
            word.encode()
        except UnicodeEncodeError:
            pass
        else:
            if "\0" not in word:
                return word
    raise InputError(f"got `{name}`={quoted(value)}; expected {expected}", parameter=name)


def texts(name: str, value: object, expected: str = "a mapping of text to text") -> dict[str, str]:
    """Return a mapping of texts as a dict of Python's (InputError: it is none, as of `text`)."""
    try:
        pairs = list(value.items()) if isinstance(value, Mapping) else None
    except Exception:  # of any library
        pairs = None
    if pairs is None:
        raise InputError(f"got `{name}`={quoted(value)}; expected {expected}", parameter=name)
    return {text(name, key, expected): text(name, one, expected) for key, one in pairs}


def is_name(text: str, longest: int = MOST) -> bool:
    """Return whether the system takes a text as a name: no NUL, fewer bytes than `longest`."""
    try:
        return "\0" not in text and len(os.fsencode(text)) < longest
    except UnicodeEncodeError:
        return False


def path(name: str, value: object) -> Path:
    """Return the path that a str or Path is; of a str it may be an address.

    InputError: no name that a file can have, or an address that is not read.
    """
    given = str(value) if isinstance(value, Path) else value
    given = str.__str__(given) if isinstance(given, str) else ""  # of a class derived from str
    if given and is_name(given, LONGEST):
        from snellen.files.remote import typed  # help does without

        return value if isinstance(value, Path) else typed(given)
    raise InputError(
        f"got `{name}`={quoted(value)}; expected the name of a file or folder, or -",
        parameter=name,
    )


def items(name: str, value: object, most: int) -> Iterator[Any]:
    """Yield what is in a sequence or another collection (InputError: none, or more than `most`).

    The caller checks each at once: a collection may claim any length, or have no end.
    """
    try:
        found: Iterator[Any] = iter(value)  # type: ignore[call-overload]
    except Exception as error:  # of any library
        raise InputError(
            f"got `{name}`={quoted(value)}; expected a sequence", parameter=name
        ) from error
    if not _claims_more(value, most):
        yield from islice(found, most)
        end = object()
        if next(found, end) is end:
            return
    raise InputError(f"got more than {most:,} of `{name}`", parameter=name)


def _claims_more(value: object, most: int) -> bool:
    """Return whether a collection says that it has more than `most`: then none is looked at."""
    try:
        return len(value) > most  # type: ignore[arg-type]
    except Exception:  # of any library; those without a length are counted
        return False


def check_bytes(needed: int, what: str) -> None:
    """Refuse (InputError) work that needs more memory than this process may have."""
    if needed > FEW and needed > memory():  # asking takes a tenth of a millisecond
        raise InputError(
            f"{what} needs {needed / 2**30:,.1f} GiB of memory; this process may have "
            f"{memory() / 2**30:,.1f} GiB",
            advice="take a smaller picture, or fewer at once",
        )


def check_size(array: Any) -> None:
    """Refuse (InputError) an array that, as a whole, is larger than the memory.

    An array that repeats one row may claim any size: whatever is computed from it has that size.
    """
    check_bytes(int(array.size) * int(array.dtype.itemsize), f"an array of shape {array.shape}")
