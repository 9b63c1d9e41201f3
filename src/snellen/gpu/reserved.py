"""Memory of Snellen's pool for one CUDA graph, which keeps the addresses of its temporary arrays.

CuPy 14.2 never releases what is free in a pool that is dropped, as its chunks and their arena hold
each other. So what a graph no longer needs is given back.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from snellen.gpu import device as devices
from snellen.gpu import memory
from snellen.process import Home


class Reserved:
    """Memory for temporary arrays that nobody else gets, until `close` or until it is dropped.

    ::

        reserved = Reserved("cuda:0")

        def work():
            with reserved.allocating():
                ...

        launch = capture(work)

    Parameters
    ----------
    device : str
        "cuda:N".
    """

    def __init__(self, device: str) -> None:
        from cupy.cuda import MemoryPool

        self._device, self._home = device, Home("the memory of a graph")
        self._pool = MemoryPool(memory.allocate)
        _alive[id(self._pool)] = self._pool

    def allocating(self) -> AbstractContextManager[Any]:
        """Return a context in which this thread allocates CuPy arrays here."""
        from cupy.cuda import using_allocator

        found: AbstractContextManager[Any] = using_allocator(self._pool.malloc)
        return found

    def close(self) -> None:
        """Give the memory back to Snellen's pool; no graph uses it any more."""
        if not self._home.keep(self._pool):
            with devices.using(self._device):
                self._pool.free_all_blocks()

    def __del__(self) -> None:
        if not self._home.keep(self._pool):
            memory.dropped(int(self._device.partition(":")[2]), self._pool)
        _alive.pop(id(self._pool), None)


_alive: dict[int, Any] = {}
"""The pools of all that were not dropped. Were they only theirs, the garbage collector would first
cut the weak references by which CuPy's memory finds its pool, and then call `__del__`."""
