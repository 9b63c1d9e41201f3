"""Page-locked memory as arrays on a GPU: kernels write into it, without a copy afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def mapped(array: npt.NDArray[Any], device: int) -> Any:
    """Return a CuPy array over a contiguous one in page-locked memory, which it holds.

    Every access goes over the bus: it is for kernels that write each sample once, and read none.
    What they have written is there for the host after an event.

    Parameters
    ----------
    array : NumPy array
        Of `memory.pinned`.
    device : int
        N of "cuda:N", which is the current GPU.
    """
    import cupy

    address = array.__array_interface__["data"][0]
    memory = cupy.cuda.UnownedMemory(address, array.nbytes, array, device)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(array.shape, np.dtype(array.dtype), pointer)
