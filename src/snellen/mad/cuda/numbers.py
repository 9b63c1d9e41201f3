"""Page-locked memory for the numbers of comparisons whose scores are pending."""

from __future__ import annotations

from collections import deque

import numpy as np

from snellen.gpu.pages import pinned

MOST = 64  # scores that may be pending before the oldest is lost


class Numbers:
    """Memory for MAD, HI, LO and the flag of flat areas, and the event of their arrival."""

    def __init__(self) -> None:
        import cupy

        self.array = pinned(4, np.float64)
        self.arrived = cupy.cuda.Event(disable_timing=True)
        self.awaited = False


class Pending:
    """The numbers of all comparisons. None is freed earlier: copies to it may be under way."""

    def __init__(self) -> None:
        self._all: deque[Numbers] = deque()

    def take(self) -> Numbers:
        """Return numbers that nobody awaits, or new ones; beyond MOST the oldest, which are lost.

        They are awaited until `awaited` is set to False.
        """
        free = (numbers for numbers in self._all if not numbers.awaited)
        taken = next(free, None)
        if taken is None:
            taken = Numbers() if len(self._all) < MOST else self._all[0]
        if taken in self._all:
            self._all.remove(taken)
        self._all.append(taken)
        taken.awaited = True
        return taken
