"""The number of threads that CPU code uses."""

from __future__ import annotations

import os


def available() -> int:
    """Return the number of CPU cores that this process may use: the default number of threads."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
