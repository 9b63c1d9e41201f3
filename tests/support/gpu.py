"""What tests on a GPU share."""

from __future__ import annotations


def busy(cuda):
    """Give the current stream some 20 ms to do: who does not wait for it reads too early."""
    a = cuda.ones((2048, 2048), cuda.float32)
    for _ in range(40):
        a = cuda.matmul(a, a) / 2048
    return a
