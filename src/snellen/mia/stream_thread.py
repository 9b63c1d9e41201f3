"""The queues of a Stream, and what its thread does."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.engine.streams import Streams
from snellen.errors import InputError
from snellen.gpu import device as devices
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.result import Restored

IN_FLIGHT = 2
"""Regions in work on a GPU, at most. More would only wait longer."""

PATIENCE = 0.2
"""Seconds of one wait, which is repeated: on Windows Ctrl-C cannot interrupt an untimed one."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region that was restored."""

    number: int
    """Number of its frame, as they were pushed, from 0; a gap says which were dropped."""
    position: tuple[int, int]
    """Column and row of its top left sample in the frame."""
    restored: Restored
    seconds: float
    """From `push` until it was ready."""


@dataclass(slots=True)
class Job:
    """A region that waits or is in work."""

    position: tuple[int, int]
    since: float
    picture: Any = None
    number: int = -1
    event: Any = None
    """On a GPU: when the picture is there."""


class Core:
    """The queues of a stream, and what its thread does: all that the thread holds.

    At most `size` regions wait for the prepared Deblurrer; where so many do, `put` drops the oldest
    of them, or else waits.
    """

    def __init__(self, deblurrer: Deblurrer, size: int, drops: bool) -> None:
        self.deblurrer, self.dropped = deblurrer, 0
        self._size, self._drops, self._pushed = size, drops, 0
        self._waiting: deque[Job] = deque()
        self._done: deque[Region] = deque()
        self._changed = threading.Condition()
        self._finished = self._stopped = self._forgotten = self._ended = False
        self._error: BaseException | None = None

    def put(self, job: Job) -> int:
        """Let a region wait for the thread; return its number."""
        with self._changed:
            while not (self._drops or self._ended) and len(self._waiting) >= self._size:
                self._changed.wait(PATIENCE)
            self.check_open()
            if len(self._waiting) >= self._size:
                self._waiting.popleft()
                self.dropped += 1
            job.number = self._pushed
            self._waiting.append(job)
            self._pushed += 1
            self._changed.notify_all()
        return job.number

    def take(self, wait: bool) -> Region | None:
        """Return the next result; see `Stream.pop`."""
        with self._changed:
            while wait and not (self._done or self._ended):
                self._changed.wait(PATIENCE)
            if self._done:
                return self._done.popleft()
            if self._error is not None:
                raise self._error
            return None

    def check_open(self) -> None:
        """Raise what stopped the stream, or InputError where no frame can follow."""
        with self._changed:
            if self._error is not None:
                raise self._error
            if self._finished:
                raise InputError("this stream was finished or closed; no frame can follow")

    def finish(self) -> None:
        """Let the thread end once nothing waits."""
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def stop(self, forgotten: bool = False) -> None:
        """Let the thread end after the region in work; where it is `forgotten` it closes all.

        Nothing waits here: the garbage collector calls it, too, in any thread.
        """
        with self._changed:
            self._finished = self._stopped = True
            self._forgotten |= forgotten
            self._waiting.clear()
            self._changed.notify_all()
            left = forgotten and self._ended
        if left:
            self.close()

    def close(self) -> None:
        """Drop results and close the Deblurrer; the thread has ended."""
        self._done.clear()
        self.deblurrer.close()

    def work(self) -> None:
        """Restore what waits, until the stream is finished; the thread's own CUDA stream."""
        try:
            with ExitStack() as stack:
                device = self.deblurrer.device
                if device != "cpu":
                    stack.enter_context(devices.using(device))
                    streams = Streams.unused(devices.ordinal(device))
                    stack.callback(streams.give_back)
                    stack.enter_context(streams.compute)
                self._restore_all()
        except BaseException as error:  # `push` and `pop` raise it
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            left = self._forgotten
        if left:
            self.close()

    def _restore_all(self) -> None:
        """Restore regions in order, IN_FLIGHT at once where the Deblurrer can and so many wait."""
        pending: deque[tuple[Job, Callable[[], Restored]]] = deque()
        most = min(IN_FLIGHT, self.deblurrer.slots)
        while True:
            job = self._next(wait=not pending)
            if self._stopped or (job is None and not pending):
                return
            if job is not None:
                try:
                    pending.append((job, self._begin(job)))
                except BaseException:
                    while pending:  # the results before it still count
                        self._end(*pending.popleft())
                    raise
                if len(pending) < most:
                    continue
            self._end(*pending.popleft())

    def _begin(self, job: Job) -> Callable[[], Restored]:
        """Begin a region; return a function that waits for its result."""
        if job.event is not None:
            import cupy

            cupy.cuda.get_current_stream().wait_event(job.event)
        return self.deblurrer.submit(job.picture)

    def _end(self, job: Job, result: Callable[[], Restored]) -> None:
        """Wait for the result of a region, and hand it over."""
        restored = result()
        if not isinstance(restored.image, np.ndarray):  # others read it on streams of their own
            import cupy

            cupy.cuda.get_current_stream().synchronize()
        seconds = time.perf_counter() - job.since
        region = Region(job.number, job.position, restored, seconds)
        with self._changed:
            self._done.append(region)
            self._changed.notify_all()

    def _next(self, wait: bool) -> Job | None:
        """Take the region that has waited longest; None: none waits, or none will come (wait)."""
        with self._changed:
            while wait and not (self._waiting or self._finished):
                self._changed.wait(PATIENCE)
            job = self._waiting.popleft() if self._waiting else None
            self._changed.notify_all()
            return job
