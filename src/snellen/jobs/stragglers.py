"""Which tickets take much longer than others, so that they are begun once more elsewhere."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

TIMES = 3
"""A straggler has taken so many times the median …"""
MOST = 2
"""… and so many times what nine of ten take, as tickets may be of any size …"""
LEAST = 30.0
"""… and so many seconds: a worker may compile code at its first ticket."""
KNOWN = 5
"""So many tickets are finished before others can be told to be slow."""
_KEPT = 1000
"""Of so many tickets, the last ones, times are kept."""


class Times:
    """The seconds that tickets have taken."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_KEPT)

    def add(self, seconds: float) -> None:
        """Note a ticket that is finished."""
        self._seconds.append(seconds)

    @property
    def limit(self) -> float:
        """The seconds from which on a ticket is a straggler; infinite: too few are finished."""
        if len(self._seconds) < KNOWN:
            return math.inf
        ordered = sorted(self._seconds)
        tenth = ordered[math.ceil(0.9 * len(ordered)) - 1]
        return max(TIMES * median(ordered), MOST * tenth, LEAST)
