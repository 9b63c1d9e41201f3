"""Functions in C that compiled loops call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable


class External:
    """A function in C that loops may call, by a name that machine code on disk can be linked to.

    Parameters
    ----------
    symbol : str
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
