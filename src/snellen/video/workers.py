"""Several frames at once in the step, each in a thread of its own; results in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType

from snellen.frames.frame import Frame
from snellen.video.channel import Channel, join
from snellen.video.source.decode import Parcel

_PATIENCE = 0.2
"""Seconds between two looks: on Windows an untimed wait cannot be interrupted by Ctrl-C."""


class _Job:
    """A parcel in a lane, then its result; or why there is none."""

    def __init__(self, parcel: Parcel | None = None, error: BaseException | None = None) -> None:
        self.parcel = parcel
        self.error = error
        self.done = False


class Lanes:
    """Sends parcels through `run`, up to `count` at once; iterating gives the results in order.

    Each lane takes the next parcel, runs it and waits for its turn to be handed on: from taking to
    handing on there are never more than `count` parcels. A context manager: no lane is inside
    `run` when the block is left, unless one hangs for longer than `patience` seconds.

    An error, of `run` or of the channel, is raised where its result would have come: that of the
    earliest frame wins. From the moment one is known no lane begins another frame.
    """

    def __init__(
        self,
        run: Callable[[Frame], Frame],
        count: int,
        parcels: Channel[Parcel],
        patience: float,
    ) -> None:
        self._run = run
        self._count = count
        self._channel = parcels
        self._parcels = iter(parcels)
        self._patience = patience
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._taking = threading.Lock()
        self._ended = False
        self._threads = [
            threading.Thread(target=self._work, daemon=True, name=f"lane {number}")
            for number in range(count)
        ]

    def __enter__(self) -> Lanes:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        self._channel.stop()  # wakes the lane that waits for the decoder
        join(self._threads, self._patience)

    def __iter__(self) -> Iterator[Parcel]:
        """Yield finished parcels in the order in which they came."""
        while True:
            with self._changed:
                while not (self._jobs[0].done if self._jobs else self._ended):
                    self._changed.wait(_PATIENCE)
                if not self._jobs:
                    return
                parcel, error = self._jobs[0].parcel, self._jobs[0].error
            if error is not None:
                raise error
            if parcel is not None:
                yield parcel
            del parcel  # while the next one is waited for
            with self._changed:  # only now: what waits to be handed on counts as in flight
                self._jobs.popleft()
                self._changed.notify_all()

    def _work(self) -> None:
        """Be a lane: until there is nothing more, or an error is known."""
        while self._one():
            pass

    def _one(self) -> bool:
        """Do the next job; what it held is free when this returns. False: there was none."""
        job = self._taken()
        if job is None:
            return False
        parcel, error = job.parcel, job.error
        if parcel is not None and parcel.frame is not None:
            try:
                parcel = replace(parcel, frame=self._run(parcel.frame))
            except BaseException as caught:
                error = caught
        with self._changed:
            job.parcel, job.error, job.done = parcel, error, True
            self._ended |= error is not None
            self._changed.notify_all()
        return True

    def _taken(self) -> _Job | None:
        """Take the next parcel once there is room; None: this lane has no more to do."""
        with self._taking:  # one at a time: so the jobs lie in the order of the parcels
            with self._changed:
                while not self._ended and len(self._jobs) >= self._count:
                    self._changed.wait(_PATIENCE)
                if self._ended:
                    return None
            try:
                parcel = next(self._parcels, None)
            except BaseException as error:
                job = _Job(error=error)
            else:
                if parcel is None:
                    self._end()
                    return None
                job = _Job(parcel)
            with self._changed:
                if self._ended:  # another lane met an error meanwhile
                    return None
                self._jobs.append(job)
                self._changed.notify_all()
            return job

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
