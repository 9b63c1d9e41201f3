"""Pictures on a GPU, reduced for the choice of crops."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.gpu.kernel import Kernel

FILE = Path(__file__).with_name("search.cu")
THREADS = 256

Float64 = npt.NDArray[np.float64]


def reduced(image: Any, side: int) -> tuple[Float64, Float64]:
    """Return means and maxima of squares of `side` samples of a picture, in main memory.

    Parameters
    ----------
    image : (rows, columns) CuPy array
        float32 or float64, at least 0, on the current GPU.
    side : int
    """
    import cupy

    rows, columns = (size // side for size in image.shape)
    image = whole_rows(image)
    mean, most = cupy.empty((rows, columns)), cupy.empty((rows, columns))
    pitch, single = np.int64(image.strides[0] // image.itemsize), image.dtype == np.float32
    grid = -(-rows * columns // THREADS)
    _kernel()(grid, THREADS, image, single, pitch, side, rows, columns, mean, most)
    return mean.get(), most.get()


@cache
def _kernel() -> Kernel:
    """Return the kernel, not compiled yet; one object for all calls, which loads it once."""
    return Kernel(FILE, "reduce_squares", threads=THREADS)


def whole_rows(image: Any) -> Any:
    """Return a picture of CuPy whose rows are contiguous: as it is, or a copy."""
    import cupy

    return image if image.strides[1] == image.itemsize else cupy.ascontiguousarray(image)
