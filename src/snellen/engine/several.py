"""The items of a batch shared among devices: one thread for each GPU.

::

    def work(device, numbers):
        with prepared.borrowed(device, key, make) as upscaler:
            for number in numbers:  # some of 0 … count − 1, one after another
                out[number] = upscaler.run(pictures[number])

    shared(("cuda:0", "cuda:1"), len(pictures), work)

`work` keeps several items in flight on its GPU, so that copies hide behind kernels, and writes the
results where they belong. Its thread is not the caller's: CuPy's current device, stream and
allocator are the thread's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from itertools import pairwise

import numpy as np

Work = Callable[[str, Iterator[int]], object]


def shared(devices: Sequence[str], count: int, work: Work, least: int = 1) -> None:
    """Call work(device, numbers) for each device, all at once; return when all have ended.

    Parameters
    ----------
    devices : sequence of str
        "cpu", or "cuda:N", each once. One device works in the calling thread.
    count : int
        Items. Each device gets consecutive ones, about equally many.
    work : callable
        Takes a device and an iterator of the numbers of its items, which ends early where another
        device has failed: then the results do not matter any more.
    least : int
        How many items a device gets at least, so that its thread pays: fewer devices share a small
        batch.

    Raises
    ------
    Exception
        What `work` raises, of the first device where several fail.
    """
    devices = devices[: max(1, count // max(1, least))]
    if len(devices) == 1:
        work(devices[0], iter(range(count)))
        return
    parts = evenly(count, len(devices))
    failed: list[BaseException | None] = [None] * len(devices)
    stop = threading.Event()

    def numbers(part: int) -> Iterator[int]:
        for number in parts[part]:
            if stop.is_set():
                return
            yield number

    def run(part: int) -> None:
        try:
            with np.errstate(all="ignore"):  # the caller may have asked NumPy for exceptions
                work(devices[part], numbers(part))
        except BaseException as error:  # it is raised in the caller's thread
            failed[part] = error
            stop.set()

    threads = [
        threading.Thread(target=copy_context().run, args=(run, part), name=f"snellen {device}")
        for part, device in enumerate(devices)
    ]
    try:
        for thread in threads:
            thread.start()
    except BaseException:  # there are too many threads; or Ctrl-C
        stop.set()
        raise
    finally:
        _join(threads, stop)
    for error in failed:
        if error is not None:
            raise error


def evenly(count: int, parts: int) -> list[range]:
    """Return the numbers 0 … count − 1 in so many parts, about equally many in each."""
    edges = [count * part // parts for part in range(parts + 1)]
    return [range(*pair) for pair in pairwise(edges)]


def _join(threads: list[threading.Thread], stop: threading.Event) -> None:
    """Wait for threads, which write into arrays of the caller; Ctrl-C makes them end early."""
    interrupt: BaseException | None = None
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:
                interrupt = error
                stop.set()
    if interrupt is not None:
        raise interrupt
