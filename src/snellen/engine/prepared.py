"""Prepared state, kept between calls: an Upscaler, a Scorer, a Deblurrer that the next call uses.

::

    key = ("upscale", model.digest, format)
    with borrowed("cuda:0", key, lambda: prepared_upscaler(format)) as upscaler:
        ...

Nobody else has the object in the block; another thread, or a call from within a callback, gets one
of its own. After the block it is idle, and the next call with this key gets it. Idle objects are
bounded for each device, by number and by bytes: those that were used least recently are closed.
Where memory runs short, all idle objects of the device are closed. A forked child starts anew.

What is allocated in the block, or as an object is made, comes from Snellen's pool: see
`gpu.memory`. So results for the caller are allocated outside, or `with memory.callers()`.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from snellen import process
from snellen.cpu import threads
from snellen.errors import DeviceMemoryError, InputError
from snellen.frames import limits
from snellen.gpu import cache, memory, pages
from snellen.gpu import device as gpus
from snellen.process import Home

ON_GPU = 16  # most idle objects of a GPU; `memory.budget` bounds their bytes
ON_CPU = 4  # most idle objects of the CPU, each of which may have threads
HOST_SHARE = 16  # idle objects of the CPU take at most this part of the main memory
HOST_MOST = 1 << 28  # and at most so many bytes


class Closable(Protocol):
    """A prepared object."""

    def close(self) -> None:
        """Release threads and buffers."""
        ...


Thing = TypeVar("Thing", bound=Closable)
Found = TypeVar("Found")


@dataclass(eq=False)
class _Entry:
    """An object, idle or lent."""

    devices: tuple[str, ...]
    key: Hashable
    thing: Any
    host: int
    home: Home = field(default_factory=lambda: Home("prepared state"))


_lock = process.lock()
_idle: list[_Entry] = []  # the last one was used last
_home = Home("prepared state")


@contextmanager
def borrowed(
    device: str | tuple[str, ...], key: Hashable, make: Callable[[], Thing], *, host: int = 0
) -> Iterator[Thing]:
    """Lend a prepared object for the block: one that is idle, or a new one.

    An exception other than InputError in the block closes the object.

    Parameters
    ----------
    device : str or tuple of str
        "cpu" or "cuda:N", or several of these, as the object uses them.
    key : hashable
        All that the object depends on: its class, format and settings, a model by its digest.
    make : callable
        Makes and prepares the object. Where memory does not suffice, all idle objects of the
        device are closed, and it is called once more.
    host : int
        Bytes of main memory that an object of the CPU takes, about.
    """
    devices = (device,) if isinstance(device, str) else tuple(device)
    if devices == ("cpu",):
        key = threads.available(), key  # it has so many
    with allocating(devices):
        entry = _taken(devices, key)
        if entry is None:
            entry = _Entry(devices, key, retried(devices, make), host)
        try:
            yield entry.thing
        except InputError:
            _settle(devices)
            _give_back(entry)
            raise
        except BaseException:
            _close([entry])
            raise
        _give_back(entry)


def retried(device: str | tuple[str, ...], call: Callable[[], Found]) -> Found:
    """Return call(); where memory does not suffice, close idle objects and call once more."""
    devices = (device,) if isinstance(device, str) else tuple(device)
    try:
        return call()
    except (DeviceMemoryError, MemoryError):
        closed = _released(set(devices))
        if not (_trimmed(devices) or closed):
            raise
    gc.collect()  # what the first call has left
    return call()


def allocating(devices: tuple[str, ...]) -> Any:
    """Return a context in which this thread allocates on GPUs from Snellen's pool."""
    return nullcontext() if devices == ("cpu",) else memory.own()


def clear_cache() -> None:
    """Close what Snellen keeps prepared for the next call, and give its memory back.

    `upscale`, `score` and `deblur` keep buffers, models on GPUs, CUDA graphs and threads for the
    next call of the same kind. These are bounded: on a GPU by 16 objects and an eighth of its
    memory (or of CUPY_GPU_MEMORY_LIMIT), on the CPU by 4 objects and 256 MiB; page-locked memory
    by a 64th of the main memory, but 512 MiB at least and 4 GiB at most. They do not lie in CuPy's
    own pools. This function releases all that no call uses just now; the next call prepares anew.
    Compiled code stays.
    """
    _released(None)
    cache.clear()
    pages.clear()


def _settle(devices: tuple[str, ...]) -> None:
    """Wait for what a call has queued that did not come to its end: nobody else waits for it."""
    for device in devices:
        with suppress(Exception), gpus.using(device):  # CUDA has failed: the next call says it
            gpus.settle()


def _taken(devices: tuple[str, ...], key: Hashable) -> _Entry | None:
    """Return an idle object, which is idle no more."""
    with _lock:
        _check_process()
        for number in reversed(range(len(_idle))):
            if _idle[number].devices == devices and _idle[number].key == key:
                return _idle.pop(number)
    return None


def _give_back(entry: _Entry) -> None:
    """Keep an object for the next call, and close those that are too many then."""
    if entry.home.keep(entry):  # the process was forked in the block
        return
    with _lock:
        _check_process()
        _idle.append(entry)
        many = [other for device in entry.devices for other in _surplus(device)]
        _idle[:] = [other for other in _idle if other not in many]
    _close(many)
    for device in entry.devices:
        if device != "cpu":
            _trim(device, bool(many))


def _surplus(device: str) -> list[_Entry]:
    """Return the idle objects of a device that are too many; of the CPU, or too large."""
    there = [entry for entry in _idle if device in entry.devices]
    if device != "cpu":
        return there[:-ON_GPU]
    most = min(HOST_MOST, limits.memory() // HOST_SHARE)
    found = there[:-ON_CPU]
    while sum(entry.host for entry in there[len(found) :]) > most:
        found = there[: len(found) + 1]
    return found


def _trim(device: str, closed: bool) -> None:
    """Close idle objects of a GPU until Snellen's pool there is within its budget."""
    # Where one was closed anyway, the pool gives memory back of which it holds more than it uses.
    with gpus.using(device):
        if closed and 2 * memory.unused() > memory.held():
            memory.trim()
        if memory.held() <= (most := memory.budget()):
            return
        memory.trim()
        while memory.held() > most:
            with _lock:
                oldest = next((entry for entry in _idle if device in entry.devices), None)
                if oldest is None:
                    return
                _idle.remove(oldest)
            _close([oldest])
            memory.trim()


def _released(devices: set[str] | None) -> bool:
    """Close all idle objects of some devices (None: of all); return whether there were any."""
    with _lock:
        _check_process()
        found = [entry for entry in _idle if devices is None or devices & set(entry.devices)]
        _idle[:] = [entry for entry in _idle if entry not in found]
    _close(found)
    return bool(found)


def _trimmed(devices: tuple[str, ...]) -> bool:
    """Give back what Snellen's pool does not use on some GPUs; return whether that was any."""
    found = False
    for device in devices:
        if device != "cpu":
            with gpus.using(device):
                before = memory.held()
                memory.trim()
                found |= memory.held() < before
    return found


def _close(entries: list[_Entry]) -> None:
    """Close objects, whatever that raises: nobody waits for it."""
    for entry in entries:
        if not entry.home.keep(entry):
            with suppress(Exception), allocating(entry.devices):
                entry.thing.close()
            entry.thing = None


def _check_process() -> None:
    """Begin anew in a forked child: what the parent has is not there. `_lock` is held."""
    global _idle, _home
    if _home.keep(_idle):
        _idle, _home = [], Home("prepared state")


def _short(device: int | None) -> bool:
    """Release what is idle on a GPU, or what may hold page-locked memory."""
    return _released(None if device is None else {f"cuda:{device}"})


@atexit.register
def _at_exit() -> None:
    """Close all while CUDA and threads still work."""
    with suppress(Exception):
        clear_cache()


memory.relieved.append(_short)
