"""SciPy's Fourier transforms with threads, which a fork in another thread does not break.

Before a fork SciPy ends the threads of its transforms, and makes new ones after it. A transform
that another thread begins in between raises RuntimeError; so forks and transforms wait for each
other here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from scipy import fft as scipy_fft

next_fast_len = scipy_fft.next_fast_len
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
"""Of transforms, and of changes to the number of BLAS threads."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=GATE.fork, after_in_parent=GATE.forked, after_in_child=GATE.reset)


def _guarded(transform: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(transform)
    def run(*arguments: Any, **options: Any) -> Any:
        with GATE:
            return transform(*arguments, **options)

    return run


fft, ifft, fft2, ifft2, rfft, irfft, rfft2, irfft2 = map(
    _guarded,
    (
        scipy_fft.fft, scipy_fft.ifft, scipy_fft.fft2, scipy_fft.ifft2,
        scipy_fft.rfft, scipy_fft.irfft, scipy_fft.rfft2, scipy_fft.irfft2,
    ),
)  # fmt: skip
