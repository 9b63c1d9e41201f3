"""Compiled loops: Python functions over arrays, run as machine code without the interpreter lock.

Numba compiles them, and `compiler` imports it only then: machine code is kept on disk, see
`machine`. A loop gets arrays and numbers, allocates nothing and returns nothing. It compiles
quickly if it consists of loops over single elements: slices, tuples, array expressions and most
NumPy functions bring hundreds of lines with them, and the text of errors that never come.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from functools import update_wrapper
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.cpu.external import External, Intrinsic

if TYPE_CHECKING:
    from snellen.cpu.machine import Code

CONSTANTS = (bool, int, float, complex, str, tuple, np.generic)
NUMBERS: dict[type, tuple[str, Any]] = {
    bool: ("int64", ctypes.c_int64),
    int: ("int64", ctypes.c_int64),
    float: ("float64", ctypes.c_double),
    np.float64: ("float64", ctypes.c_double),
    np.float32: ("float32", ctypes.c_float),
}
"""Numba's and C's type of an argument that is a number, by its class."""


def compiled(loop: Callable[..., Any] | None = None, *, strided: tuple[str, ...] = ()) -> Any:
    """Compile a function when it is first called with a set of types.

    Floating-point arithmetic follows IEEE 754: fastmath is off, and a division by zero is no error.

    Parameters
    ----------
    loop : callable
        Its arguments are arrays, int, float and np.float32. It may call other such functions.
    strided : tuple of str
        Names of arrays that may have any strides. All others are C-contiguous.
    """
    if loop is None:
        return lambda loop: compiled(loop, strided=strided)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return loop
    return Loop(loop, strided)


class Loop:
    """A compiled function; for `strided` see `compiled`."""

    def __init__(self, function: Callable[..., Any], strided: tuple[str, ...]):
        if function.__closure__:
            raise TypeError(f"{function.__qualname__} is compiled: it cannot have a closure")
        update_wrapper(self, function)
        self.function = function
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._layouts = ["A" if name in strided else "C" for name in names]
        self._codes: dict[tuple[str, ...], Any] = {}
        self._latest: dict[tuple[type, ...], Any] = {}

    @property
    def types(self) -> list[tuple[str, ...]]:
        """The types of arguments with which it has been called."""
        return list(self._codes)

    def __call__(self, *arguments: Any) -> None:
        """Run the loop; TypeError where a layout is not what the loop takes."""
        # The machine code itself checks types and layouts of arrays, and returns 0 if they fit.
        code = self._latest.get(tuple(map(type, arguments)))
        if code is None or code(*arguments):
            types = tuple(map(_type, arguments, self._layouts))
            code = self._latest[tuple(map(type, arguments))] = self._code(types)
            if code(*arguments):
                raise TypeError(
                    f"{self.function.__qualname__} takes C-contiguous arrays; got {types}"
                )

    def _code(self, types: tuple[str, ...]) -> Any:
        """Return the machine code for types of arguments."""
        if len(types) != len(self._layouts):
            raise TypeError(f"{self.function.__qualname__} takes {len(self._layouts)} arguments")
        from snellen.cpu import machine

        def make(name: str) -> Code:
            from snellen.cpu import compiler

            return compiler.loop(name, self.function, types, _callees)

        with machine.LOCK:
            if types not in self._codes:
                for external in _externals(self.function):
                    external.define()
                meaning = (_meaning(self.function), types)
                address = machine.address(self.function.__name__, meaning, make)
                kinds = [ctypes.py_object if one[-1] in "CA" else _C[one] for one in types]
                kind = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)  # releases the interpreter lock
                self._codes[types] = kind(address)
        return self._codes[types]


_C = dict(NUMBERS.values())


def _type(argument: Any, layout: str) -> str:
    """Return a number's type, or an array's as "float32 2 C": dtype, axes, layout."""
    if isinstance(argument, np.ndarray):
        if not argument.dtype.isnative:
            raise TypeError(f"got an array of {argument.dtype!r}; expected native byte order")
        return f"{argument.dtype.name} {argument.ndim} {layout}"
    if type(argument) not in NUMBERS:
        raise TypeError(f"got a {type(argument).__name__}; expected an array, int or float")
    return NUMBERS[type(argument)][0]


def _meaning(function: Callable[..., Any], seen: tuple[Any, ...] = ()) -> list[object]:
    """Return all that the machine code of a function depends on, but for the types of arguments."""
    # That is its own code, and constants and compiled functions that it finds by a global name.
    found: list[object] = [function.__qualname__, function.__defaults__]
    for code in _codes(function.__code__):
        constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
        found += [code.co_code, constants, code.co_names, code.co_varnames]
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, Loop):
                if value.function not in seen:
                    found += _meaning(value.function, (*seen, function, value.function))
            elif isinstance(value, External | Intrinsic):
                found.append((name, value.symbol, value.count))
            elif isinstance(value, ModuleType):
                found += [(one, getattr(value, one, None)) for one in code.co_names
                          if isinstance(getattr(value, one, None), CONSTANTS)]  # fmt: skip
            elif isinstance(value, CONSTANTS):
                found.append((name, value))
    return found


def _callees(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return what a function calls that is compiled, too, or made elsewhere, by its names."""
    values = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    loops = {name: one.function for name, one in values.items() if isinstance(one, Loop)}
    return loops | {
        name: one for name, one in values.items() if isinstance(one, External | Intrinsic)
    }


def _externals(function: Callable[..., Any]) -> Iterator[External]:
    """Yield what a function calls in C, itself or in a loop that it calls."""
    for one in _callees(function).values():
        if isinstance(one, External):
            yield one
        elif not isinstance(one, Intrinsic):
            yield from _externals(one)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code, and that of its comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
