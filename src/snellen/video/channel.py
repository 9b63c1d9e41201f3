"""A bounded queue between two threads that passes errors both ways; waiting for threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from typing import Generic, TypeVar

import numpy as np

from snellen.cpu.pool import awaited
from snellen.frames.frame import Format
from snellen.process import Home

T = TypeVar("T")

DEPTHS = 4, 32
"""Items that wait between two threads, at least and at most: enough that a key frame, which takes
a decoder as long as many others, delays nobody."""
ROOM = 64 << 20
"""Bytes that these may have, where more than the least wait: few enough for 4K frames."""
PATIENCE = 10.0
"""Seconds to wait, after an error, for a thread that may hang in a stream of the caller's."""

POLL = 0.2
"""Seconds of a single wait: on Windows, Ctrl-C cannot interrupt a wait without a limit."""


class Stopped(Exception):  # noqa: N818 (a signal, not an error)
    """The other side has stopped; the reason, if there is one, is raised elsewhere."""


def depth(format: Format) -> int:
    """Return how many frames of a format wait between two threads."""
    size = sum(height * width for height, width in format.shapes) * format.dtype.itemsize
    return int(np.clip(ROOM // size, *DEPTHS))


class Channel(Generic[T]):
    """Holds at most `size` items between one producer and one consumer."""

    def __init__(self, size: int) -> None:
        self._home = Home("this run")
        self._items: deque[T] = deque()
        self._size = size
        self._changed = threading.Condition()
        self._closed = False
        self._stopped: BaseException | None = None

    def put(self, item: T) -> None:
        """Wait for room and add `item`; raises the reason given to `stop`."""
        self._home.check()
        with self._changed:
            while self._stopped is None and len(self._items) >= self._size:
                self._changed.wait(POLL)
            if self._stopped is not None:
                raise self._stopped
            self._items.append(item)
            self._changed.notify_all()

    def close(self) -> None:
        """End the items; those that were put before are still delivered."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def stop(self, reason: BaseException | None = None) -> None:
        """Discard the queued items; both sides raise `reason` (default: Stopped) from now on."""
        if not self._home.here:
            return  # a thread of the parent may hold the lock, and here is nobody to stop
        with self._changed:
            if self._stopped is None:
                self._stopped = reason if reason is not None else Stopped()
            self._items.clear()
            self._changed.notify_all()

    def check(self) -> None:
        """Raise the reason given to `stop`, if it was called."""
        if self._stopped is not None:
            raise self._stopped

    def __iter__(self) -> Iterator[T]:
        """Yield items until the channel is closed and empty."""
        while True:
            self._home.check()
            with self._changed:
                while self._stopped is None and not self._items and not self._closed:
                    self._changed.wait(POLL)
                if self._stopped is not None:
                    raise self._stopped
                if not self._items:
                    return
                item = self._items.popleft()
                self._changed.notify_all()
            yield item
            del item  # else the frame is kept while this waits for the next one


class Thread(threading.Thread):
    """A daemon thread for whose end `join` waits, also where Ctrl-C has interrupted a wait before.

    Python's own `join`, until 3.13, takes a thread for ended when an interrupt breaks its wait:
    what the thread still uses would be closed under it.
    """

    def __init__(self, target: Callable[[], object], name: str) -> None:
        super().__init__(daemon=True, name=name)
        self.awaited = awaited()  # on behalf of the one that made it
        self._home = Home("this thread")
        # It works within the limits of the one that made it.
        context = copy_context()
        self._work: Callable[[], object] = lambda: context.run(target)
        self.ended = threading.Event()

    @property
    def over(self) -> bool:
        """Return whether it has ended, or never was in this process, a forked child."""
        return not self._home.here or self.ended.is_set()

    def run(self) -> None:
        """Run the target, and forget it: it may own this thread, and a decoder."""
        try:
            self._work()
        finally:
            del self._work
            self.ended.set()


def join(threads: Sequence[Thread], patience: float | None = None) -> bool:
    """Wait for the threads to end, at most `patience` seconds; return whether they did.

    Threads that were not started count as ended.
    """
    until = None if patience is None else time.monotonic() + patience
    running = [thread for thread in threads if thread.ident is not None]
    for thread in running:
        while not thread.over and (until is None or time.monotonic() < until):
            thread.ended.wait(POLL)
        if thread.over:
            thread.join(POLL)  # what is left of it is Python's own
    return all(thread.over for thread in running)
