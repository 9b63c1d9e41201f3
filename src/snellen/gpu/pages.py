"""Page-locked memory: arrays for asynchronous copies, and for kernels that write to the host."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen import process
from snellen.gpu import driver, graph, memory

PORTABLE = 1  # cudaHostAllocPortable: page-locked for every GPU
IDLE = 1 << 29  # bytes of page-locked memory that nobody uses and that are kept for later
BLOCKS = 512  # most blocks of such memory
STEPS = 8  # sizes of page-locked blocks between two powers of two: at most 1/8 is wasted
SMALLEST = 4096  # bytes of a page-locked block


def pinned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array in page-locked memory, which asynchronous copies to and from a GPU need.

    When the array and all views of it are gone, its memory serves later calls of about the same
    size: the slow cudaHostAlloc is called for the first frames only. So hold the array until every
    copy that was queued with it is done.
    """
    from cupy.cuda import PinnedMemoryPointer

    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    # The array holds the block through the buffer protocol; the last view releases it.
    block = pages.take(math.prod(shape) * np.dtype(dtype).itemsize)
    return np.ndarray(shape, dtype, buffer=PinnedMemoryPointer(block, 0))


def mapped(array: npt.NDArray[Any], device: int) -> Any:
    """Return a CuPy array over a contiguous one in page-locked memory, which it holds.

    Every access goes over the bus: it is for kernels that write each sample once, and read none.
    What they have written is there for the host after an event.

    Parameters
    ----------
    array : NumPy array
        As `pinned` returns it.
    device : int
        N of "cuda:N", which is the current GPU.
    """
    import cupy

    address = array.__array_interface__["data"][0]
    owned = cupy.cuda.UnownedMemory(address, array.nbytes, array, device)
    pointer = cupy.cuda.MemoryPointer(owned, 0)
    return cupy.ndarray(array.shape, np.dtype(array.dtype), pointer)


def clear() -> None:
    """Give all memory back that nobody uses: of every GPU, and page-locked."""
    pages.clear()
    if not memory.used or driver.forked():
        return
    import cupy

    for device in list(memory.used):
        with cupy.cuda.Device(device):
            memory.trim()


class Pages:
    """A pool of page-locked memory, bounded: what is not used for long is released.

    Attributes
    ----------
    most : int
        Bytes that nobody uses and that are kept for later.
    lent : int
        Bytes in use.
    """

    def __init__(self) -> None:
        self.most = IDLE
        self._lock, self._home = process.lock(), process.Home("page-locked memory")
        self._idle: list[Any] = []  # the last one was used last
        self._bytes = self.lent = 0

    def take(self, size: int) -> Block:
        """Return a block of at least `size` bytes; the last reference to it gives it back."""
        size = rounded(size)
        block = Block(self._found(size) or self._locked(size), self)
        with self._lock:
            self.lent += size
        return block

    def give(self, memory: Any) -> None:
        """Take memory back; wait for no other thread, as the garbage collector may call."""
        dropped = []
        with graph.quiet() as quiet:
            with self._lock:
                self._idle.append(memory)
                self._bytes += memory.size
                self.lent -= memory.size
                while quiet and (self._bytes > self.most or len(self._idle) > BLOCKS):
                    dropped.append(self._idle.pop(0))
                    self._bytes -= dropped[-1].size
            del dropped  # after the lock, as releasing waits for the GPU

    def clear(self) -> None:
        """Release what nobody uses."""
        with self._lock:
            dropped, self._idle, self._bytes = self._idle, [], 0
        if not self._home.keep(dropped):
            with graph.undisturbed():
                del dropped

    def _found(self, size: int) -> Any:
        """Return idle memory of this size, if there is any."""
        with self._lock:
            if self._home.keep(self._idle):  # the parent's
                self._idle, self._home = [], process.Home("page-locked memory")
                self._bytes = self.lent = 0
            for memory in reversed(tuple(self._idle)):
                if memory.size == size:
                    with suppress(ValueError):  # the garbage collector gave and dropped meanwhile
                        self._idle.remove(memory)
                        self._bytes -= size
                        return memory
        return None

    def _locked(self, size: int) -> Any:
        """Return new memory; where it does not suffice, what is kept is released first."""
        from cupy.cuda import PinnedMemory
        from cupy.cuda.runtime import CUDARuntimeError

        try:
            return PinnedMemory(size, PORTABLE)
        except CUDARuntimeError as error:
            if error.status != memory.NO_MEMORY:
                raise
        memory.relieve(host=True)
        self.clear()
        return PinnedMemory(size, PORTABLE)


class Block:
    """Page-locked memory that is in use, as `PinnedMemoryPointer` takes it."""

    def __init__(self, memory: Any, pages: Pages):
        self.ptr, self.size = memory.ptr, memory.size
        self._memory, self._pages = memory, pages
        self._home = process.Home("page-locked memory")

    def __del__(self) -> None:
        if not self._home.keep(self._memory):
            self._pages.give(self._memory)


def rounded(size: int) -> int:
    """Return the size of the block for `size` bytes: pictures of like sizes share blocks."""
    if size <= SMALLEST:
        return SMALLEST
    step = (1 << (size - 1).bit_length() - 1) // STEPS
    return -(-size // step) * step


pages = Pages()
