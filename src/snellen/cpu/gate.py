"""The gate at which a fork waits: transforms, and changes to the number of BLAS threads."""

from __future__ import annotations

import os
import threading

POLL = 0.2  # seconds of a single wait
PATIENCE = 10.0  # seconds that a fork waits: an interrupt may have left a transform uncounted


class _Gate:
    """Lets transforms run at once, but none while a thread forks."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the threads of the parent: they are not in this child."""
        self._changed = threading.Condition()
        self._running = self._forking = 0

    def __enter__(self) -> None:
        with self._changed:
            while self._forking:
                self._changed.wait(POLL)
            self._running += 1

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def fork(self) -> None:
        """Wait for what runs, and let nothing begin."""
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: not self._running, PATIENCE)

    def forked(self) -> None:
        """Let transforms begin again, in the parent."""
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()


GATE = _Gate()
"""The gate of transforms, and of changes to the number of BLAS threads."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=GATE.fork, after_in_parent=GATE.forked, after_in_child=GATE.reset)
