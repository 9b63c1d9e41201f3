"""BLAS held to one thread, while threads of ours each call it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# What np.dot inside Numba calls; loaded here so that its threads are limited, too.
import scipy.linalg.cython_blas  # noqa: F401
from threadpoolctl import ThreadpoolController

_turn = threading.RLock()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold every BLAS of this process to one thread, then restore what was.

    The number of BLAS threads belongs to the process, so those who want it take turns: of two that
    overlap, the second would take the first one's limit for the original, and one would lose it
    while it works. Each uses all cores anyway. The same thread may nest.
    """
    with _turn, ThreadpoolController().limit(limits=1, user_api="blas"):
        yield
