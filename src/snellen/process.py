"""Processes that are forked: what an object of the parent may still do in the child.

A child has one thread, the one that forked. Threads of pools, GPU contexts and encoders that the
parent made are not there: whoever waits for them waits for ever. So an object that has any holds a
`Home` and calls `check` where it is used; where it is closed or collected in a child it does
nothing, since threads, temporary files and GPU memory belong to the parent.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from snellen.errors import InputError, SnellenError

P = ParamSpec("P")
R = TypeVar("R")


def check_running() -> None:
    """Refuse (SnellenError) to work while Python shuts down, as in a `__del__` that it calls last.

    All threads but this one stand still then, so that whoever waits for another one waits for ever,
    and nothing can be imported. Functions of `atexit` come before.
    """
    if sys.is_finalizing():
        raise SnellenError(
            "Python is shutting down: nothing can be computed any more",
            advice="call this before the program ends, in a function of atexit at the latest",
        )


def while_running(
    function: Callable[P, R], check: Callable[[], None] = check_running
) -> Callable[P, R]:
    """Make a public function refuse (SnellenError) calls while Python shuts down."""

    @wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        check()  # names of this module may be gone
        return function(*arguments, **options)

    return run


class Home:
    """The process in which an object was made; `what` is its name in the error, "this Upscaler"."""

    __slots__ = ("_process", "_what")

    def __init__(self, what: str):
        self._what, self._process = what, os.getpid()

    @property
    def here(self) -> bool:
        """Return whether this is still the process in which the object was made."""
        return self._process == os.getpid()

    def check(self) -> None:
        """Refuse (InputError) the use in a forked child."""
        if not self.here:
            raise InputError(
                f"{self._what} was made in another process, and a forked one has none of its "
                "threads",
                advice="make one in this process, or start processes by spawn",
            )

    def keep(self, *objects: Any) -> bool:
        """Return whether this is another process; then nothing of the objects is ever released.

        What is released in a forked child would wait for threads or call a GPU that are not there,
        or write the end of a file that the parent is still writing: also when the child ends.
        """
        if self.here:
            return False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(objects))
        return True


class Holder:
    """Base of what holds threads, buffers or a GPU: it is not copied, and methods may take turns.

    A copy would share what it holds, and closing one would close the other. `_holds` says whether
    there is anything yet; before, an object is its settings, and can be copied and pickled. It is
    a context manager that closes itself.
    """

    _what = "this object"
    _turn: Any = None

    def _holds(self) -> bool:
        """Return whether the object holds what cannot be copied."""
        return True

    def close(self) -> None:
        """Release what the object holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "ready" if self._holds() else "not prepared"
        return f"<{type(self).__name__} on {getattr(self, 'device', 'no device')}, {state}>"

    def __getstate__(self) -> dict[str, Any]:
        if self._holds():
            raise InputError(
                f"{self._what} holds threads and buffers, and cannot be copied or pickled",
                advice="make another one, or copy it before `prepare`",
            )
        return {name: value for name, value in self.__dict__.items() if name != "_turn"}


class _Turn:
    """Whose turn it is: a lock, and whether its owner is at work."""

    __slots__ = ("home", "lock", "working")

    def __init__(self) -> None:
        self.home, self.lock, self.working = os.getpid(), threading.RLock(), False


def _turn_of(holder: Holder) -> _Turn:
    turn: _Turn | None = holder._turn
    if turn is None or turn.home != os.getpid():  # a thread of the parent may hold its lock
        with _making:
            turn = holder._turn
            if turn is None or turn.home != os.getpid():
                turn = holder._turn = _Turn()
    return turn


def in_turn(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], R]:
    """Make calls of a Holder's methods wait for each other, whatever threads they come from.

    A call from within another one of the same thread (a callback, a generator, a signal handler) is
    refused by InputError, since both would use the same buffers.
    """

    @while_running
    @wraps(method)
    def run(holder: Any, /, *arguments: P.args, **options: P.kwargs) -> R:
        turn = _turn_of(holder)
        with turn.lock:
            if turn.working:
                raise InputError(
                    f"{holder._what} is at work: this call came from within another one",
                    advice="make another one for callbacks and generators",
                )
            turn.working = True
            try:
                import numpy as np  # here, as workers start without it

                with np.errstate(all="ignore"):  # the caller may have asked for exceptions
                    return method(holder, *arguments, **options)
            finally:
                turn.working = False

    return run


def lock() -> Any:
    """Return a re-entrant lock for a global of a module, which is free in a forked child.

    Another thread of the parent may hold it at the fork, and will never release it in the child.
    """
    made = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made._at_fork_reinit)  # type: ignore[attr-defined]
    return made


_making = lock()
