"""Odd values of any kind, as hostile arguments for functions and classes."""

from __future__ import annotations

import enum
import io
import itertools
import random
import warnings
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

import snellen
from snellen import jobs


class Colour(enum.IntEnum):
    RED = 2


class Name(enum.Enum):
    CPU = "cpu"


class Odd:
    """Every question to it fails."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no answer")

    __repr__ = __eq__ = __bool__ = __len__ = __iter__ = __index__ = __float__ = _fail
    __array__ = __getitem__ = __int__ = __str__ = __fspath__ = _fail
    __hash__ = object.__hash__


class Elsewhere:
    """An array of a library whose device nobody knows."""

    shape, dtype, ndim, size = (48, 56), np.dtype("uint8"), 2, 48 * 56

    def __init__(self, place: Any) -> None:
        self.place = place

    def __dlpack_device__(self) -> Any:
        return self.place

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("not now")


class Junk:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return "no array"


class Text(str):
    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = str.__hash__


def deep(levels: int) -> Any:
    """Return lists in lists."""
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


SCALARS: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: 1, lambda: -1, lambda: 2,
    lambda: 3, lambda: 7, lambda: 33, lambda: 2**31 - 1, lambda: 2**31, lambda: 2**63,
    lambda: 2**64 + 1, lambda: 10**400, lambda: -(10**400), lambda: 10**5000, lambda: 0.0,
    lambda: -0.0, lambda: 2.0, lambda: 0.5, lambda: float("nan"), lambda: float("inf"),
    lambda: -float("inf"), lambda: 5e-324, lambda: 1e-30, lambda: 1e30, lambda: 1.7e308,
    lambda: "8", lambda: "", lambda: "nan", lambda: "1e400", lambda: "a\0b", lambda: "\ud800",
    lambda: "\x1b[31m\n", lambda: "٣", lambda: "x" * 100_000, lambda: "cpu", lambda: "cuda",
    lambda: "cuda:" + "9" * 5000, lambda: "cpu,cpu", lambda: "gpu", lambda: "2011",
    lambda: "float16", lambda: Text("cpu"), lambda: b"cpu", lambda: b"", lambda: bytearray(8),
    lambda: memoryview(b"abcd"), lambda: Path("none.png"), lambda: Path("/"), lambda: Path("a\0"),
    lambda: Fraction(1, 3), lambda: Fraction(10**400), lambda: Fraction(1, 10**400),
    lambda: Decimal("1.5"), lambda: Decimal("nan"), lambda: 1j, lambda: Colour.RED,
    lambda: Name.CPU, lambda: np.int64(2), lambda: np.uint8(200), lambda: np.int8(-3),
    lambda: np.bool_(True), lambda: np.float16("inf"), lambda: np.float32("nan"),
    lambda: np.float64(2), lambda: np.longdouble(2), lambda: np.array(2),
    lambda: np.array([1, 2]), lambda: np.array("cpu"), lambda: np.datetime64("2020-01-01"),
    lambda: np.str_("cpu"), lambda: datetime(2020, 1, 1), lambda: object(), lambda: int,
    lambda: np, lambda: print, lambda: (x for x in (1, 2)), lambda: range(3),
    lambda: range(10**12), lambda: [range(10**12)], lambda: [], lambda: (), lambda: [[]],
    lambda: [[], [1]], lambda: [[1, 2], [3]], lambda: [1, 2], lambda: (1, 1), lambda: ("cpu",),
    lambda: ["cpu", 3], lambda: [None], lambda: {}, lambda: {"a": 1}, lambda: {1: "a"},
    lambda: {"a": "\0"}, lambda: set(), lambda: {2}, lambda: itertools.count(), lambda: deep(50),
    lambda: deep(2000), lambda: Odd(), lambda: [Odd()], lambda: Junk(), lambda: io.BytesIO(b"x"),
    lambda: Elsewhere((2, 0)), lambda: Elsewhere((1, 0)), lambda: Elsewhere((99, 0)),
    lambda: Elsewhere(None), lambda: Elsewhere((2, 10**400)), lambda: ..., lambda: NotImplemented,
    lambda: Exception("x"), lambda: (0, 0, 8, 8), lambda: (1, 2, 10**400, 4), lambda: "1,2,8,8",
    lambda: "1,2,8,99999999999", lambda: [(1, 2)], lambda: [(1, 2), (3,)],
    lambda: snellen.Format(48, 56), lambda: snellen.Frame(()), lambda: jobs.Clip(),
]  # fmt: skip
SHAPES = [
    (48, 56), (56, 48), (48, 56, 3), (40, 40, 4), (2, 40, 40), (48, 56, 1), (48, 56, 2), (34, 34),
    (33, 34), (1, 1), (2, 3), (0, 5), (5, 0), (0, 40, 40), (), (3,), (1, 1, 1, 40, 40),
    (2, 0, 40, 40), (5, 5), (5, 4), (1, 500), (1, 1, 3), (2, 2, 2, 2, 2, 2),
]  # fmt: skip
DTYPES = [
    "uint8", "uint16", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint32", "uint64", "bool", "complex64", "complex128", "longdouble", "object", "U3", "S2",
    "datetime64[s]", "timedelta64[s]", ">u2", ">f4", ">f8", "V3", "u1,f4",
]  # fmt: skip


def array(rng: random.Random) -> Any:
    """Return an array that may be usable, and may be anything else."""
    shape = rng.choice(SHAPES)
    numbers = np.random.default_rng(rng.getrandbits(32)).integers(0, 200, shape)
    kind = rng.choice(DTYPES[:5]) if rng.random() < 0.6 else rng.choice(DTYPES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = numbers.astype(kind)
        if found.dtype.kind == "f" and rng.random() < 0.5:
            found = np.asarray(found / found.dtype.type(255))
        if found.dtype.kind == "f" and found.size and rng.random() < 0.3:
            value = rng.choice([np.nan, np.inf, -np.inf, -1.0, 1e300, 1e-300, 3e38, 6e4])
            found = np.array(found)
            found.flat[rng.randrange(found.size)] = value
            if rng.random() < 0.3:
                found[...] = value
    how = rng.randrange(16)
    if how == 0 and found.ndim:
        found = found[::-1]
    elif how == 1 and found.ndim > 1:
        found = found[:, ::-1]
    elif how == 2 and found.ndim > 1:
        found = found.swapaxes(0, 1)
    elif how == 3:
        found.flags.writeable = False
    elif how == 4:
        found = np.ma.masked_array(found, mask=rng.random() < 0.5)
    elif how == 5 and found.ndim == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asmatrix(found)
    elif how == 6:
        found = found.view(np.recarray)
    elif how == 7:
        found = np.asfortranarray(found)
    elif how == 8 and found.size:
        side = rng.choice([10**5, 10**6, 10**8])
        found = np.broadcast_to(found.reshape(-1)[:1], (side, side))
    elif how == 9 and found.ndim:
        found = np.repeat(found, 2, 0)[::2]
    elif how == 10:
        found = found.tolist()
    elif how == 11 and found.size:
        found = np.broadcast_to(found.reshape(-1)[:1], rng.choice([(10**12,), (1, 10**10), (64,)]))
    return found


SMALL = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64", "longdouble", "bool")  # fmt: skip
"""Types of NumPy's scalars: those of few bits overflow where Python's do not."""
MANY = 100_000
"""Characters, digits or items of what is far too long for a message."""


class Long:
    """Its own words are too long for a message."""

    def __repr__(self) -> str:
        return "r" * MANY

    __str__ = __fspath__ = __repr__


class Broken(Mapping[Any, Any]):
    """A mapping that says nothing of itself."""

    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError("no answer")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no answer")

    def __len__(self) -> int:
        return 2


def small(rng: random.Random) -> Any:
    """Return a number of NumPy's, often near the limits of its type."""
    kind = np.dtype(rng.choice(SMALL))
    if kind.kind == "b":
        return np.bool_(rng.random() < 0.5)
    few = rng.choice([0, 1, 2, 3, 4, 5, 8, 16, 24, 31, 64, 100])
    if kind.kind == "f":
        limits = np.finfo(kind)
        some = [limits.max, limits.min, limits.tiny, limits.eps, kind.type("inf")]
        return kind.type(rng.choice([few, few, few + 0.5, few / 100, *some]))
    most = np.iinfo(kind).max
    return kind.type(rng.choice([few, few, most, most - 1, most // 2 + 1, np.iinfo(kind).min]))


def long(rng: random.Random) -> Any:
    """Return what is too long for a message, as a whole or in a part of it."""
    text = rng.choice("xX9 /é:,`\n\x1b") * MANY
    named = rng.choice(["", "cpu", "cuda:", "0:v:", "psnr,", "none.png", "a:1/", "http://"])
    word = text + named if rng.random() < 0.3 else named + text
    return rng.choice([lambda: word, lambda: Path(word), *(partial(one, word) for one in LONG)])()


LONG: list[Callable[[str], Any]] = [
    lambda word: word, lambda word: word.encode(), Text, np.str_, lambda word: [word],
    lambda word: (word, word), lambda word: {word: word}, lambda word: {"tune": word},
    lambda word: {word: 1}, lambda word: {word}, lambda word: [Path(word)], Exception,
    lambda word: type(word.replace("\0", ""), (), {})(), lambda word: np.array([word]), np.array,
    lambda word: 10**MANY, lambda word: -(10**MANY), lambda word: [10**MANY],
    lambda word: Fraction(1, 10**MANY), lambda word: Fraction(10**MANY, 3),
    lambda word: Decimal("1e" + "9" * 9), lambda word: Long(), lambda word: [Long()],
    lambda word: {"a": Long()}, lambda word: SimpleNamespace(**{"a" * MANY: 1}),
    lambda word: list(range(MANY)), lambda word: ["cpu"] * MANY, lambda word: "cpu," * MANY,
    lambda word: dict.fromkeys(range(MANY), ""), lambda word: deep(900),
    lambda word: np.zeros(MANY), lambda word: "1:" * MANY, lambda word: "[" * MANY,
]  # fmt: skip
"""What is too long, over a text that is."""


def endless(rng: random.Random) -> Any:
    """Return a container that has itself in it, has no end, or claims what is not so."""
    ring: Any = rng.choice([[], {}])
    if isinstance(ring, list):
        ring.append(ring)
    else:
        ring["a"] = ring
    return rng.choice([
        ring, (ring,), [many(1, 60)], deque([many(1, 60)]), many(ring, 3), {"a": ring}, Broken(),
        itertools.repeat("cpu"), itertools.cycle([1]),
        {"a": Broken()}, [Broken()], iter([Odd()]), deque(["cpu"]), UserDict({"tune": "film"}),
        OrderedDict(a=Odd()), MappingProxyType({"tune": "film"}), MappingProxyType({1: 2}),
    ])  # fmt: skip


def many(found: Any, levels: int) -> Any:
    """Return lists of lists, each of which is there twice."""
    for _ in range(levels):
        found = [found, found]
    return found


def nested(rng: random.Random, levels: int = 3) -> Any:
    """Return values in containers in containers."""
    if not levels or rng.random() < 0.2:
        return small(rng) if rng.random() < 0.5 else rng.choice(SCALARS)()
    inside = [nested(rng, levels - 1) for _ in range(rng.randrange(5))]
    keys = [rng.choice(["tune", "a", 1, None, ("a",), "x" * MANY, np.uint8(9)]) for _ in inside]
    with suppress(Exception):  # what cannot be in a set, or has no length
        return rng.choice([list, tuple, deque, iter, np.array, set, frozenset])(inside)
    return dict(zip(keys, inside, strict=True))


def numbers(rng: random.Random) -> Any:
    """Return one number of NumPy's, or several, as some parameters take them."""
    value = small(rng)
    with suppress(Exception):  # fractions of what is not whole, arrays of what is too large
        return rng.choice([
            lambda: (value, small(rng)), lambda: [value, small(rng)], lambda: (value,) * 4,
            lambda: [(value, value)], lambda: Fraction(value, rng.choice([1, 3, small(rng)])),
            lambda: np.array(value), lambda: np.array([value, value]), lambda: str(value),
            lambda: (value, 1, "a"), lambda: {"a": value}, lambda: np.ma.masked_array(value, True),
        ])()  # fmt: skip
    return value


def hostile(rng: random.Random) -> Any:
    """Return any value."""
    kinds: list[Callable[[random.Random], Any]] = [array, small, numbers, long, nested, endless]
    weights = (20, 15, 8, 8, 5, 2)
    if rng.random() < sum(weights) / 100:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is made here, not of what is called
            return rng.choices(kinds, weights)[0](rng)
    return rng.choice(SCALARS)()
