"""Memory of the GPUs: Snellen's own pool on each, and what is free; `pages` has page-locked memory.

What is prepared for later calls stays allocated. It comes from pools of Snellen's own, so that
neither CuPy's default pool nor its pool of page-locked memory, which belong to the caller, grow::

    with own():  # a thread that prepares or uses an object
        scratch = cupy.empty(...)  # of Snellen's pool
        with callers():
            result = cupy.empty(...)  # of the caller's pool, or whatever allocator it has chosen
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from snellen import process
from snellen.gpu import graph

NO_MEMORY = 2  # cudaErrorMemoryAllocation
SHARE = 8  # idle objects keep at most this part of a GPU's memory
SCRATCH = 3 << 30  # most bytes of a plane's features and patches: those of 4K enlarged ×2 by A+
SCRATCH_SHARE = 0.8  # the part of the free memory that they may take

relieved: list[Callable[[int | None], bool]] = []
"""Called where memory runs short, with N of "cuda:N" or None for page-locked memory: whoever keeps
memory for later calls releases it and returns whether there was any."""

_thread = threading.local()  # .callers: the allocator that was current outside of `own`
_pool: Any = None
used: set[int] = set()  # where the pool has been used
_dropped: list[tuple[int, Any]] = []  # see `dropped`
_making = process.lock()


@contextmanager
def own() -> Iterator[None]:
    """Allocate CuPy arrays of this thread from Snellen's pool."""
    from cupy.cuda import get_allocator, using_allocator

    outside = getattr(_thread, "callers", None)
    if outside is not None:
        yield
        return
    _thread.callers = get_allocator()
    try:
        with using_allocator(allocate):
            yield
    finally:
        _thread.callers = None


@contextmanager
def callers() -> Iterator[None]:
    """Allocate CuPy arrays of this thread by the caller's allocator: results, and in callbacks.

    Where its memory runs short, what is kept for later calls is released first.
    """
    from cupy.cuda import get_allocator, using_allocator
    from cupy.cuda.memory import OutOfMemoryError

    inside = getattr(_thread, "callers", None)
    given = inside or get_allocator()

    def sufficing(size: int) -> Any:
        try:
            return given(size)
        except OutOfMemoryError:
            relieve()
        return given(size)

    _thread.callers = None
    try:
        with using_allocator(sufficing):
            yield
    finally:
        _thread.callers = inside


def held() -> int:
    """Return the bytes of the current GPU that Snellen's pool holds, used or not."""
    return int(_pool.total_bytes()) if _pool else 0


def unused() -> int:
    """Return the bytes of the current GPU that Snellen's pool holds and nobody uses."""
    return int(_pool.free_bytes()) if _pool else 0


def budget() -> int:
    """Return how many bytes of the current GPU idle objects may make Snellen's pool hold.

    That is 1 / SHARE of the GPU's memory, or of the limit of CuPy's pool (CUPY_GPU_MEMORY_LIMIT).
    """
    import cupy

    limit = int(cupy.get_default_memory_pool().get_limit())
    return (limit or _total(int(cupy.cuda.runtime.getDevice()))) // SHARE


@cache
def _total(device: int) -> int:
    """Return the bytes of the current GPU, which is `device`."""
    from cupy.cuda.runtime import memGetInfo

    return int(memGetInfo()[1])


def trim() -> None:
    """Give memory of Snellen's pool that nobody uses back to the current GPU."""
    if _pool:
        with graph.undisturbed():
            _empty_dropped()
            _pool.free_all_blocks()


def dropped(device: int, pool: Any) -> None:
    """Keep a pool over `allocate` whose owner goes, until `trim` finds that no array uses it.

    CuPy 14.2 never releases what is free in a pool that is gone, and arrays of it may go after its
    owner: the objects of a cycle are collected in any order.
    """
    _dropped.append((device, pool))


def _empty_dropped() -> None:
    from cupy.cuda.runtime import getDevice

    for entry in _dropped[:]:
        device, pool = entry
        if device == int(getDevice()):
            pool.free_all_blocks()
            if not pool.total_bytes():
                with suppress(ValueError):  # another thread has removed it
                    _dropped.remove(entry)


def free_memory() -> int:
    """Return how many bytes may still be allocated on the current GPU.

    That is what the driver has free and what the pool in use holds unused, within the limit of
    CuPy's pool where one is set (CUPY_GPU_MEMORY_LIMIT), which holds for both pools together.
    """
    import cupy

    pool = cupy.get_default_memory_pool()
    limit, others = int(pool.get_limit()), 0
    if _pool and getattr(_thread, "callers", None) is not None:
        pool, others = _pool, int(pool.total_bytes())
    free = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
    return min(free, limit - others - int(pool.used_bytes())) if limit else free


def scratch(taken: int = 0) -> int:
    """Return the bytes that a plane's stages may take on the current GPU, beside those `taken`."""
    return min(SCRATCH, int(SCRATCH_SHARE * (free_memory() - taken)))


@contextmanager
def lasting() -> Iterator[None]:
    """Allocate arrays that live longer than the current stream, and wait until they are filled.

    CuPy's pools have a free list for each stream, and nobody can use the list of a stream that has
    ended. So buffers for private streams are allocated on the default stream; later allocations
    reuse their memory. Before they are dropped, the caller waits until no stream uses them.
    """
    import cupy

    with cupy.cuda.Stream.null as stream:
        yield
        stream.synchronize()


def allocate(size: int) -> Any:
    """Allocate from Snellen's pool, on the current device and stream.

    Memory that nobody else may use, as that of a graph, is `reserved.Reserved`.
    """
    global _pool
    from cupy.cuda import MemoryPool
    from cupy.cuda.runtime import getDevice

    device = int(getDevice())
    if device not in used:
        with _making:
            _pool = _pool or MemoryPool(_from_driver)
            _pool.set_limit(size=0)  # `_from_driver` knows the limit of both pools together
            used.add(device)
    return _pool.malloc(size)


def _from_driver(size: int) -> Any:
    """Allocate for Snellen's pool, which has added `size` to its total already."""
    from cupy.cuda import Memory, MemoryPointer
    from cupy.cuda.memory import OutOfMemoryError
    from cupy.cuda.runtime import CUDARuntimeError

    if _excess() > 0:
        trim()
    if _excess() > 0:
        relieve()
    if (excess := _excess()) > 0:
        total = held() - size
        raise OutOfMemoryError(size, total, held() - excess)
    try:
        return MemoryPointer(Memory(size), 0)
    except CUDARuntimeError as error:
        if error.status != NO_MEMORY or not relieve():
            raise
    return MemoryPointer(Memory(size), 0)


def _excess() -> int:
    """Return by how many bytes both pools are beyond the limit of CuPy's; 0: there is none."""
    import cupy

    pool = cupy.get_default_memory_pool()
    limit = int(pool.get_limit())
    return int(pool.total_bytes()) + held() - limit if limit else 0


def relieve(host: bool = False) -> bool:
    """Release all that is kept on the current GPU, or page-locked; return whether there was any."""
    import cupy

    if cupy.cuda.get_current_stream().is_capturing():
        return False  # nobody may wait for a GPU in a capture
    device = None if host else int(cupy.cuda.runtime.getDevice())
    found = [release(device) for release in relieved]
    trim()
    return any(found)
