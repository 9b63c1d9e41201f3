"""What tests on a GPU share."""

from __future__ import annotations

import os

ALONE = "PYTEST_XDIST_WORKER" not in os.environ
"""Whether no other process runs tests on the GPU meanwhile, as those of pytest-xdist do."""


def busy(cuda):
    """Give the current stream some 20 ms to do: who does not wait for it reads too early."""
    a = cuda.ones((2048, 2048), cuda.float32)
    for _ in range(40):
        a = cuda.matmul(a, a) / 2048
    return a


def memory_state(cuda):
    """Return bytes that CuPy's pool has given out and holds, and what is free on the GPU.

    The free memory is everybody's: it counts only where this process is alone.
    """
    pool = cuda.get_default_memory_pool()
    free = cuda.cuda.runtime.memGetInfo()[0] if ALONE else None
    return pool.used_bytes(), pool.total_bytes(), free
