"""A bounded queue between two threads that passes errors both ways; waiting for threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from snellen.process import Home

T = TypeVar("T")

DEPTH = 4
"""Items that wait between two threads: enough to even out delays, few enough for 4K frames."""
PATIENCE = 10.0
"""Seconds to wait, after an error, for a thread that may hang in a stream of the caller's."""

POLL = 0.2
"""Seconds of a single wait: on Windows, Ctrl-C cannot interrupt a wait without a limit."""


class Stopped(Exception):  # noqa: N818 (a signal, not an error)
    """The other side has stopped; the reason, if there is one, is raised elsewhere."""


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


def join(threads: list[threading.Thread], patience: float | None = None) -> bool:
    """Wait for the threads to end, at most `patience` seconds; return whether they did."""
    until = None if patience is None else time.monotonic() + patience
    for thread in threads:
        while thread.is_alive() and (until is None or time.monotonic() < until):
            thread.join(POLL)
    return not any(thread.is_alive() for thread in threads)
