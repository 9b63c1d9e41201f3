"""How far pictures on a GPU are from what they were at the check before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.gpu.device import over
from snellen.gpu.kernel import Kernel
from snellen.gpu.profile import stage
from snellen.mia.backend import Float64

THREADS = 256
BLOCKS = 512  # blocks that share the sums of one picture, at most


class Change:
    """Compares pictures with those before. Work is queued on CuPy's current stream.

    Parameters
    ----------
    dtype : str
        "float32" or "float64".
    """

    def __init__(self, dtype: str):
        self._kernel = kernel(dtype)

    def __call__(self, f: Any, before: Any) -> Any:
        """Return sums of (f − before)² and of f²: (B, blocks, 2) float64; `before` becomes f.

        Parameters
        ----------
        f, before : (B, H, W) CuPy arrays
            Of f each picture is contiguous, of `before` everything.
        """
        import cupy

        batch, size = len(f), f.shape[1] * f.shape[2]
        blocks, rows = over(size, batch, THREADS)
        grid = min(BLOCKS, blocks), rows
        sums = cupy.empty((batch, grid[0], 2))
        with stage("change of f"):
            self._kernel(
                grid, THREADS, f, np.int64(f.strides[0] // f.itemsize), batch, size, before, sums
            )
        return sums


def greatest(sums: Float64, dtype: str) -> float:
    """Return the greatest ‖f − before‖ / ‖f‖, 0 for a black picture."""
    change, size = np.sqrt(sums.sum(1)).T
    return float((change / np.maximum(size, np.finfo(dtype).tiny)).max())


def kernel(dtype: str) -> Kernel:
    """Return the kernel for pictures of a type, not compiled yet."""
    file, real = Path(__file__).with_suffix(".cu"), "float" if dtype == "float32" else "double"
    return Kernel(file, "change", threads=THREADS, real=real)
