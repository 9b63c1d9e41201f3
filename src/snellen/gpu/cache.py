"""Objects on a GPU that take long to make: the few that were used last stay there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """The objects of each GPU that were used last. May be used from several threads.

    An object that is dropped may still be read by kernels in a queue: it waits for them itself
    before its memory is released, see `Resident`.

    Parameters
    ----------
    most : int
        Objects of one GPU that stay.
    """

    def __init__(self, most: int):
        self._most = most
        self._lock = threading.Lock()
        self._devices: dict[int, OrderedDict[Hashable, Value]] = {}

    def get(self, device: int, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the object of a GPU with this key, made where there is none.

        Parameters
        ----------
        device : int
            N of "cuda:N".
        key : hashable
        make : callable
            Makes the object. No other thread gets one meanwhile.
        """
        dropped = None  # released after the lock, as releasing waits for the GPU
        with self._lock:
            kept = self._devices.setdefault(device, OrderedDict())
            if key in kept:
                kept.move_to_end(key)
                return kept[key]
            value = kept[key] = make()
            if len(kept) > self._most:
                dropped = kept.popitem(last=False)
        del dropped
        return value

    def clear(self) -> None:
        """Drop all objects."""
        with self._lock:
            dropped, self._devices = self._devices, {}
        del dropped


class Resident:
    """Base of an object whose arrays lie on a GPU, for several users on streams of their own.

    When nobody holds the object any more it waits until its GPU has done all queued work, and only
    then drops its arrays: kernels that read them may still be in a queue of a user that is gone.
    Users hold the object, and not its arrays alone.

    Parameters
    ----------
    device : int
        N of "cuda:N".
    """

    def __init__(self, device: int):
        self._device = device

    def __del__(self) -> None:
        with suppress(Exception):  # CUDA may be gone where the process ends
            synchronize(self._device)


def synchronize(device: int) -> None:
    """Wait until a GPU has done all queued work."""
    import cupy

    with cupy.cuda.Device(device) as chosen:
        chosen.synchronize()
