"""Threads: a bounded queue between two, which passes errors both ways; several items in flight."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from typing import Generic, TypeVar

import numpy as np

from snellen.cpu.pool import awaited
from snellen.frames.frame import Format
from snellen.process import Home

T = TypeVar("T")
U = TypeVar("U")

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
    return int(np.clip(ROOM // format.nbytes, *DEPTHS))


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


class _Job(Generic[T, U]):
    """An item, then its result; or the error that replaces it."""

    def __init__(self, item: T | None = None, error: BaseException | None = None) -> None:
        self.item = item
        self.result: U | None = None
        self.error = error
        self.done = False


class Workers(Generic[T, U]):
    """Threads that call `run` on up to `count` items at once; iterating gives results in order.

    Each thread takes the next item, runs it, and waits until there is room for another: between
    taking and the consumer's next request there are never more than `count` items. A context
    manager: no thread is inside `run` after the block, unless one hangs for longer than `patience`,
    in seconds.

    `items` are taken by one thread at a time; `stop` ends a wait for the next one, in another
    thread. An error, of `run` or of `items`, is raised where its result would have come: that of
    the earliest item wins. Once an error is known, no thread begins another item.
    """

    def __init__(
        self,
        run: Callable[[T], U],
        count: int,
        items: Iterable[T],
        stop: Callable[[], None],
        patience: float,
    ) -> None:
        self._home = Home("this run")
        self._run = run
        self._count = count
        self._items = iter(items)
        self._stop = stop
        self._patience = patience
        self._jobs: deque[_Job[T, U]] = deque()
        self._changed = threading.Condition()
        self._taking = threading.Lock()
        self._ended = False
        self._threads = [Thread(self._work, f"worker {number}") for number in range(count)]

    def __enter__(self) -> Workers[T, U]:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._stop()  # wakes the thread that waits for the next item
        join(self._threads, self._patience)

    def __iter__(self) -> Iterator[U]:
        """Yield results in the order of the items."""
        while True:
            self._home.check()
            with self._changed:
                while not (self._jobs[0].done if self._jobs else self._ended):
                    self._changed.wait(POLL)
                if not self._jobs:
                    return
                result, error = self._jobs[0].result, self._jobs[0].error
            if error is not None:
                raise error
            if result is not None:
                yield result
            del result  # else it is kept while this waits for the next one
            with self._changed:  # only now, so that a result counts as in flight until it is used
                self._jobs.popleft()
                self._changed.notify_all()

    def _work(self) -> None:
        """Run jobs until there are no more items, or an error is known."""
        while self._run_one():
            pass

    def _run_one(self) -> bool:
        """Run the next job; release what it held; return False if there was none."""
        job = self._take()
        if job is None:
            return False
        item, job.item = job.item, None
        result, error = None, job.error
        if item is not None:
            try:
                result = self._run(item)
            except BaseException as caught:
                error = caught
        with self._changed:
            job.result, job.error, job.done = result, error, True
            self._ended |= error is not None
            self._changed.notify_all()
        return True

    def _take(self) -> _Job[T, U] | None:
        """Take the next item once there is room; None: this thread has no more to do."""
        with self._taking:  # one at a time, so that jobs are queued in the order of the items
            with self._changed:
                while not self._ended and len(self._jobs) >= self._count:
                    self._changed.wait(POLL)
                if self._ended:
                    return None
            job: _Job[T, U]
            try:
                item = next(self._items, None)
            except BaseException as error:
                job = _Job(error=error)
            else:
                if item is None:
                    self._end()
                    return None
                job = _Job(item)
            with self._changed:
                if self._ended:  # another thread met an error meanwhile
                    return None
                self._jobs.append(job)
                self._changed.notify_all()
            return job

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def in_flight(
    submit: Callable[[T], Callable[[], U]], items: Iterable[T], count: int
) -> Iterator[U]:
    """Yield the results of `items` in order, up to `count` of them in flight; without threads.

    `submit` begins an item and returns a function that waits for its result. It and those functions
    are called in the thread that iterates. An item is kept until its result is there.
    """
    pending: deque[tuple[T, Callable[[], U]]] = deque()
    for item in items:
        pending.append((item, submit(item)))
        if len(pending) >= count:
            yield pending[0][1]()
            pending.popleft()
    while pending:
        yield pending[0][1]()
        pending.popleft()
