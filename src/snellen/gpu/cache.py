"""A cache of constants on GPUs that take long to make, bounded for each GPU and shared by all.

`frames.prepared` keeps objects with buffers, which one call at a time uses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from snellen import process
from snellen.gpu import graph

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """The most recently used objects of each GPU. May be used from several threads.

    Queued kernels may still read an object that is dropped. It waits for them itself before its
    memory is released, see `Resident`.

    Parameters
    ----------
    most : int
        Greatest number of objects on one GPU.
    """

    def __init__(self, most: int):
        self._most = most
        self._lock = process.lock()
        self._devices: dict[int, OrderedDict[Hashable, Value]] = {}
        _all.add(self)

    def get(self, device: int, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the object of a GPU with this key; make it if there is none.

        Parameters
        ----------
        device : int
            N of "cuda:N".
        key : hashable
        make : callable
            Makes the object. Other threads that call `get` wait meanwhile.
        """
        dropped = None  # released after the lock, as releasing waits for the GPU
        with self._lock:
            objects = self._devices.setdefault(device, OrderedDict())
            if key in objects:
                objects.move_to_end(key)
                return objects[key]
            value = objects[key] = make()
            if len(objects) > self._most:
                dropped = objects.popitem(last=False)
        del dropped
        return value

    def clear(self) -> None:
        """Drop all objects."""
        with self._lock:
            dropped, self._devices = self._devices, {}
        del dropped


_all: WeakSet[Cache[Any]] = WeakSet()


def clear() -> None:
    """Drop the objects of all caches."""
    for cache in list(_all):
        cache.clear()


class Resident:
    """Base class of an object with arrays on a GPU, for several users with streams of their own.

    After its last reference is gone, the object waits until its GPU has done all queued work, and
    only then drops its arrays: kernels that read them may still be queued. Users must therefore
    hold a reference to the object, not only to its arrays.

    Parameters
    ----------
    device : int
        N of "cuda:N".
    """

    def __init__(self, device: int):
        self._device, self._home = device, process.Home("this object")

    def __del__(self) -> None:
        with suppress(Exception):  # CUDA may be gone when the process ends
            if not self._home.keep(self.__dict__):
                synchronize(self._device)


def synchronize(device: int) -> None:
    """Wait until a GPU has done all queued work."""
    import cupy

    with cupy.cuda.Device(device):
        graph.synchronize()
