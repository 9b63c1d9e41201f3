"""Memory: page-locked memory of the host, and what is free on a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt


def free_memory() -> int:
    """Return how many bytes may still be allocated on the current GPU.

    That is what the driver has free and what CuPy's pool holds unused, within the pool's limit
    where one is set (CUPY_GPU_MEMORY_LIMIT).
    """
    import cupy

    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, limit - int(pool.used_bytes())) if limit else free


@contextmanager
def lasting() -> Iterator[None]:
    """Allocate arrays that live longer than the current stream, and wait until they are filled.

    CuPy's pool has a free list for each stream, and nobody can use the list of a stream that has
    ended. So buffers for private streams are allocated on the default stream; later allocations
    reuse their memory. Before they are dropped, the caller waits until no stream uses them.
    """
    import cupy

    with cupy.cuda.Stream.null as stream:
        yield
        stream.synchronize()


def pinned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array in page-locked memory, which asynchronous copies to and from a GPU need.

    When the array and all views of it are gone, CuPy's pool reuses its memory for the next call of
    the same size: the slow cudaHostAlloc is called for the first frames only. So hold the array
    until every copy that was queued with it is done.
    """
    import cupy

    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    # The array holds the pool's block through the buffer protocol; the last view releases it.
    memory = cupy.cuda.alloc_pinned_memory(math.prod(shape) * np.dtype(dtype).itemsize)
    return np.ndarray(shape, dtype, buffer=memory)
