"""An interrupt at each moment of a piece of code: before each of Python's instructions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupts:
    """Calls a function at one of the moments of code in some files.

    A signal's handler runs between two of Python's instructions (at some of them only), so what
    holds before each of them holds for signals.

    Parameters
    ----------
    files : names of modules' files, by their ends
    strike : raises, as a signal's handler does

    Attributes
    ----------
    passed : number of moments so far
    """

    def __init__(self, files: tuple[str, ...], strike: Callable[[], object]):
        self._files, self._strike = files, strike
        self._left = self.passed = 0

    def at(self, moment: int, code: Callable[[], object]) -> bool:
        """Run code; return whether it had as many moments."""
        self._left = moment + 1
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            code()
        finally:
            sys.settrace(before)
        return self.struck

    @property
    def struck(self) -> bool:
        """Whether the moment came."""
        return self._left <= 0

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self._files):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self._left -= 1
            self.passed += 1
            if self._left == 0:
                self._strike()
        return self._step
