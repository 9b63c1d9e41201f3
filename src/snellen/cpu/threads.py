"""How many threads work."""

from __future__ import annotations

import os


def available() -> int:
    """Return how many CPU cores this process may use: as many threads work at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
