"""Functions that compiled loops call and that are not compiled by Numba: in C, or LLVM's own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np


class External:
    """A function in C that loops may call, by a name that machine code on disk can be linked to.

    Parameters
    ----------
    count : int
        Number of its arguments. All are addresses, as `array.ctypes.data`; it returns nothing.
    find : callable
        Returns its address.
    """

    def __init__(self, symbol: str, count: int, find: Callable[[], int]):
        self.symbol, self.count, self._find = symbol, count, find

    def define(self) -> None:
        """Let machine code find the function."""
        from snellen.cpu import machine

        machine.define(self.symbol, self._find())

    def __call__(self, *arguments: int) -> None:
        """Call it from Python, where loops are not compiled."""
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * self.count)(self._find())(*arguments)


class Intrinsic:
    """A function of float32 that LLVM turns into instructions.

    Parameters
    ----------
    symbol : str
        LLVM's name.
    count : int
        Number of its arguments; they and the result are float32.
    plain : callable
        Computes it in Python, where loops are not compiled.
    """

    def __init__(self, symbol: str, count: int, plain: Callable[..., np.float32]):
        self.symbol, self.count, self._plain = symbol, count, plain

    def __call__(self, *arguments: np.float32) -> np.float32:
        """Call it from Python."""
        return self._plain(*arguments)


def _multiply_add(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


multiply_add = Intrinsic("llvm.fmuladd.f32", 3, _multiply_add)
"""a · b + c, rounded once where the processor has an instruction for it, else twice."""
