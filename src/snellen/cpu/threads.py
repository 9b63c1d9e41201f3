"""The number of threads that CPU code uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_chosen: ContextVar[int | None] = ContextVar("snellen_threads", default=None)
_share: ContextVar[tuple[int, int] | None] = ContextVar("snellen_share", default=None)
"""Threads of this process, and of all that share the work; None: there is one."""


def available() -> int:
    """Return the number of threads that CPU code uses.

    That of the innermost block of `limited`, else of the cores that this process may use; within
    `shared` the share of this process.
    """
    share = _share.get()
    return _chosen.get() or cores() if share is None else share[0]


def together() -> int:
    """Return the number of threads that all processes which share the work have together."""
    share = _share.get()
    return available() if share is None else share[1]


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


@contextmanager
def shared(together: int) -> Iterator[None]:
    """Within the block, jobs run as they would alone, on a share of the CPU.

    `available` stays as it is outside. `chosen`, on which the packets of encoders depend, is what
    blocks of `limited` inside say.

    Parameters
    ----------
    together : int
        Threads of all processes that share the work.
    """
    share, chosen = _share.set((available(), together)), _chosen.set(None)
    try:
        yield
    finally:
        _chosen.reset(chosen)
        _share.reset(share)
