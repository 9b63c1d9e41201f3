"""Runs pieces of work, here or elsewhere: a Protocol, and the executor of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
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

        Raises
        ------
        SnellenError
            A task has failed for good, or no more can be run.
        """
        ...


class Here(Generic[T, R_out]):
    """Runs one task at a time, in this process.

    Parameters
    ----------
    run : callable
        Runs a task, and returns its result.
    """

    slots = 1

    def __init__(self, run: Callable[[T], R_out]) -> None:
        self._run, self._tasks = run, deque[T]()

    def submit(self, task: T, /) -> None:
        """Take a task."""
        self._tasks.append(task)

    def wait(self) -> R_out:
        """Run the task, and return its result."""
        return self._run(self._tasks.popleft())
