"""Runs pieces of work, here or elsewhere: a Protocol, this process's, and films that it defers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_in = TypeVar("T_in", contravariant=True)
R_out = TypeVar("R_out", covariant=True)


class Executor(Protocol[T_in, R_out]):
    """Runs tasks, here or elsewhere; called from one thread."""

    @property
    def slots(self) -> int:
        """How many tasks there may be at once; asked anew before each."""
        ...

    def submit(self, task: T_in, /) -> None:
        """Take a task; there are fewer than `slots`."""
        ...

    def wait(self) -> R_out:
        """Return the result of one of the tasks, whichever ends first, and forget it.

        SnellenError: a task has failed for good, or no more can be run.
        """
        ...


class Here(Generic[T, R_out]):
    """Runs one task at a time, in this process: `run` returns its result."""

    slots = 1

    def __init__(self, run: Callable[[T], R_out]) -> None:
        self._run, self._tasks = run, deque[T]()

    def submit(self, task: T, /) -> None:
        """Take a task."""
        self._tasks.append(task)

    def wait(self) -> R_out:
        """Run the task, and return its result."""
        return self._run(self._tasks.popleft())


CUT, LONG = "cut", "long"
"""Films are deferred that are cut into segments, or all long ones."""

_which: ContextVar[str | None] = ContextVar("snellen_deferred", default=None)


class DeferredError(Exception):
    """A film is deferred; nothing was written."""


@contextmanager
def deferring(which: str) -> Iterator[None]:
    """Within the block, CUT or LONG films raise DeferredError before work starts."""
    token = _which.set(which)
    try:
        yield
    finally:
        _which.reset(token)


def check_deferred(is_cut: bool, is_long: bool) -> None:
    """Raise DeferredError if a film is one of those that are deferred."""
    which = _which.get()
    if (is_cut and which is not None) or (is_long and which == LONG):
        raise DeferredError
