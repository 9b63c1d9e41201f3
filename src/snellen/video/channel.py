"""A bounded queue between two threads that carries errors both ways; waiting for threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_PATIENCE = 0.2
"""Seconds between two looks: on Windows an untimed wait cannot be interrupted by Ctrl-C."""


class Stopped(Exception):  # noqa: N818 (a message, not an error)
    """The other side gave up; the reason, if any, is told elsewhere."""


class Channel(Generic[T]):
    """At most `size` items on their way from one producer to one consumer."""

    def __init__(self, size: int) -> None:
        self._items: deque[T] = deque()
        self._size = size
        self._changed = threading.Condition()
        self._closed = False
        self._stopped: BaseException | None = None

    def put(self, item: T) -> None:
        """Add `item`, waiting for room; raises what `stop` was given."""
        with self._changed:
            while self._stopped is None and len(self._items) >= self._size:
                self._changed.wait(_PATIENCE)
            if self._stopped is not None:
                raise self._stopped
            self._items.append(item)
            self._changed.notify_all()

    def close(self) -> None:
        """Say that nothing more comes; what was put is still delivered."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def stop(self, reason: BaseException | None = None) -> None:
        """Throw away what is queued; both sides raise `reason` (Stopped) from now on."""
        with self._changed:
            if self._stopped is None:
                self._stopped = reason if reason is not None else Stopped()
            self._items.clear()
            self._changed.notify_all()

    def check(self) -> None:
        """Raise what `stop` was given, if it was."""
        if self._stopped is not None:
            raise self._stopped

    def __iter__(self) -> Iterator[T]:
        """Yield items until the channel is closed and empty."""
        while True:
            with self._changed:
                while self._stopped is None and not self._items and not self._closed:
                    self._changed.wait(_PATIENCE)
                if self._stopped is not None:
                    raise self._stopped
                if not self._items:
                    return
                item = self._items.popleft()
                self._changed.notify_all()
            yield item
            del item  # a frame, while the next one is waited for


def join(stages: list[threading.Thread], patience: float | None = None) -> bool:
    """Wait for the threads to end, at most `patience` seconds; return whether they did."""
    until = None if patience is None else time.monotonic() + patience
    for stage in stages:
        while stage.is_alive() and (until is None or time.monotonic() < until):
            stage.join(0.2)  # not forever: Ctrl-C would have to wait on Windows
    return not any(stage.is_alive() for stage in stages)
