"""What backends say of their progress, and when: a GPU has not done it yet when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

Later = Callable[[], T]
"""A function that waits for a result and returns it."""

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


def change(f: Array, before: Array) -> Later[float]:
    """Compare estimates (B, H, W) in main memory with `before`: see `Backend.change`."""
    change, size = (np.linalg.norm(x.reshape(len(x), -1), axis=1) for x in (f - before, f))
    greatest = float((change / np.maximum(size, np.finfo(f.dtype).tiny)).max())
    before[...] = f
    return lambda: greatest
