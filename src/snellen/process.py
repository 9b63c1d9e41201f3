"""Processes that are forked: what an object of the parent may still do in the child.

A child has one thread, the one that forked. Threads of pools, GPU contexts and encoders that the
parent made are not there: whoever waits for them waits for ever. So an object that has any holds a
`Home` and calls `check` where it is used; where it is closed or collected in a child it does
nothing, since threads, temporary files and GPU memory belong to the parent.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from snellen.errors import InputError


class Home:
    """The process in which an object was made.

    Parameters
    ----------
    what : str
        The object, for the error: "this Upscaler".
    """

    __slots__ = ("_process", "_what")

    def __init__(self, what: str):
        self._what, self._process = what, os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is still the process in which the object was made."""
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


def lock() -> Any:
    """Return a re-entrant lock for a global of a module, which is free in a forked child.

    Another thread of the parent may hold it at the fork, and will never release it in the child.
    """
    made = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made._at_fork_reinit)  # type: ignore[attr-defined]
    return made
