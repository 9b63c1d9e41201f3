"""The number of threads that CPU code uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_chosen: ContextVar[int | None] = ContextVar("snellen_threads", default=None)


def available() -> int:
    """Return the number of threads that CPU code uses.

    That of the innermost block of `limited`, else of the cores that this process may use.
    """
    return _chosen.get() or cores()


def chosen() -> int | None:
    """Return the number of the innermost block of `limited`; None: there is none."""
    return _chosen.get()


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


@contextmanager
def limited(count: int | None) -> Iterator[None]:
    """Within the block, CPU code uses so many threads; None: as outside of it."""
    token = _chosen.set(count or _chosen.get())
    try:
        yield
    finally:
        _chosen.reset(token)
