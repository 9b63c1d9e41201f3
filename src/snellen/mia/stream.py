"""A region of each frame of a film, restored while the film goes on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames import arrays, values
from snellen.frames.axes import check_dtype
from snellen.frames.engine import Streams
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.mia import settings
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.result import Restored
from snellen.process import Holder, Home

POLICIES = ("block", "drop")
IN_FLIGHT = 2
"""Regions in work: one goes to the GPU while one is restored. More would only wait longer."""

_PATIENCE = 0.2
"""Seconds of one wait, which is repeated: on Windows Ctrl-C cannot interrupt an untimed one."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region that was restored."""

    number: int
    """Of its frame, as they were pushed, from 0; a gap says which were dropped."""
    position: tuple[int, int]
    """Column and row of its top left sample in the frame."""
    restored: Restored
    seconds: float
    """From `push` until it was ready."""


@dataclass(slots=True)
class _Job:
    number: int
    position: tuple[int, int]
    picture: Any
    since: float
    event: Any = None
    """On a GPU: when the picture is there."""


class Stream(Holder):
    """Restore a region of every frame that is pushed, in a thread of its own.

    ::

        with Stream(Deblurrer(iterations=50, warm=True), (128, 128), policy="drop") as stream:
            for frame, position in camera:
                stream.push(frame, position)
                while region := stream.pop(wait=False):
                    show(region.restored.image)
            stream.finish()
            for region in stream:
                show(region.restored.image)

    Leaving `with` closes it: regions that are not restored or not taken by then are discarded and
    do not count as dropped. One thread pushes and one thread takes, the same or another. Results
    come in the order of their frames, and all of them wait until they are taken.

    Memory: regions are held as copies where their frames are: `queue` that wait, one in work (two
    where they come from main memory and go to a GPU), and one that `push` brings. The copy of a
    dropped region is released at once, on a GPU to CuPy's pool, which keeps it for the next region.
    Results that wait are held beside these.

    Parameters
    ----------
    deblurrer : Deblurrer
        Settings, not prepared: the stream prepares and closes it, and nobody else uses it in
        between. warm=True starts each region with the PSF of the last one.
    shape : (rows, columns)
        Of the region, one plane.
    queue : int
        So many regions wait at most, beside those in work.
    policy : str
        What `push` does when so many wait: "block" waits, too; "drop" drops the oldest of them and
        counts it.
    data_range : float, optional
        The sample value of white. None: the greatest of integers, 1.0 of floats.

    Raises
    ------
    InputError, DeviceError
        As `Deblurrer.prepare` raises; a policy that does not exist; a Deblurrer that is prepared
        already, as that of another stream.
    """

    _what = "this Stream"

    def __init__(
        self,
        deblurrer: Deblurrer,
        shape: tuple[int, int],
        queue: int = 2,
        policy: str = "block",
        data_range: float | None = None,
    ) -> None:
        if not isinstance(deblurrer, Deblurrer):
            raise InputError(
                f"got {type(deblurrer).__name__}; expected a Deblurrer", parameter="deblurrer"
            )
        if deblurrer.prepared:
            raise InputError(
                "the Deblurrer is prepared already, by its `prepare` or by another stream",
                parameter="deblurrer",
                advice="make one for each Stream, or close it first",
            )
        self._size = settings.whole("queue", queue)
        policy = values.choice("policy", policy, POLICIES)
        self._drops = policy == "drop"
        self._shape = rows, columns = settings.shape(shape)
        deblurrer.prepare(Format(columns, rows, 0, white=settings.white(data_range)))
        self._deblurrer = deblurrer
        self._waiting: deque[_Job] = deque()
        self._done: deque[Region] = deque()
        self._home = Home(self._what)
        self._changed = threading.Condition()
        self._pushed = self._dropped = 0
        self._finished = self._ended = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True, name="snellen stream")
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many regions were dropped so far."""
        return self._dropped

    def push(self, frame: Any, position: tuple[int, int] = (0, 0)) -> int:
        """Give a frame; return its number.

        Parameters
        ----------
        frame : (rows, columns) array
            A grey or luma plane, as `Deblurrer.run` takes it, at least as large as the region.
            Only the region is copied, at once: the frame may be overwritten afterwards.
        position : (int, int)
            Column and row of the region's top left sample: a sequence or an array of two integers.

        Raises
        ------
        InputError
            Another array, or a region that is not inside the frame: the stream goes on without it.
            Or the stream was finished or closed.
        SnellenError
            What stopped the stream, as samples that no picture has.
        """
        since = time.perf_counter()
        frame, column, row = self._check(frame, position)
        rows, columns = self._shape
        job = _Job(self._pushed, (column, row), None, since)
        self._copy(frame[row : row + rows, column : column + columns], job)
        with self._changed:
            while not (self._drops or self._ended) and len(self._waiting) >= self._size:
                self._changed.wait(_PATIENCE)
            self._check_open()
            if len(self._waiting) >= self._size:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append(job)
            self._pushed += 1
            self._changed.notify_all()
        return job.number

    def pop(self, wait: bool = True) -> Region | None:
        """Return the next result; None: none is ready (not wait), or none will come.

        Raises
        ------
        SnellenError
            What stopped the stream, after all results before it.
        """
        self._home.check()
        with self._changed:
            while wait and not (self._done or self._ended):
                self._changed.wait(_PATIENCE)
            if self._done:
                return self._done.popleft()
            if self._error is not None:
                raise self._error
            return None

    def __iter__(self) -> Iterator[Region]:
        """Yield all results until the stream is finished and nothing is left."""
        while region := self.pop():
            yield region

    def finish(self) -> None:
        """Say that no more frames come; what waits is still restored."""
        self._home.check()
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def close(self) -> None:
        """Stop: what waits, and results that were not taken, are thrown away."""
        if self._home.keep(self.__dict__):
            return
        with self._changed:
            self._finished = True
            self._waiting.clear()
            self._changed.notify_all()
        while self._thread.is_alive():
            self._thread.join(_PATIENCE)
        self._done.clear()
        self._deblurrer.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _work(self) -> None:
        """Restore what waits, until the stream is finished; the thread's own CUDA stream."""
        try:
            with ExitStack() as stack:
                device = self._deblurrer.device
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

    def _restore_all(self) -> None:
        """Restore regions in order, IN_FLIGHT at once where the Deblurrer can and so many wait."""
        pending: deque[tuple[_Job, Callable[[], Restored]]] = deque()
        most = min(IN_FLIGHT, self._deblurrer.slots)
        while True:
            job = self._taken(wait=not pending)
            if job is None and not pending:
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

    def _begin(self, job: _Job) -> Callable[[], Restored]:
        """Begin a region; return a function that waits for its result."""
        if job.event is not None:
            import cupy

            cupy.cuda.get_current_stream().wait_event(job.event)
        return self._deblurrer.submit(job.picture)

    def _end(self, job: _Job, result: Callable[[], Restored]) -> None:
        """Wait for the result of a region, and hand it over."""
        restored = result()
        if self._deblurrer.device != "cpu":  # others read it on streams of their own
            import cupy

            cupy.cuda.get_current_stream().synchronize()
        seconds = time.perf_counter() - job.since
        region = Region(job.number, job.position, restored, seconds)
        with self._changed:
            self._done.append(region)
            self._changed.notify_all()

    def _taken(self, wait: bool) -> _Job | None:
        """Take the region that has waited longest; None: none waits, or none will come (wait)."""
        with self._changed:
            while wait and not (self._waiting or self._finished):
                self._changed.wait(_PATIENCE)
            job = self._waiting.popleft() if self._waiting else None
            self._changed.notify_all()
            return job

    def _copy(self, region: Any, job: _Job) -> None:
        """Put a copy into the job; on a GPU it is made on the caller's stream."""
        if isinstance(region, np.ndarray):
            job.picture = region.copy()
            return
        with arrays.working(region, self._deblurrer.device):
            import cupy

            job.picture = region.copy()
            job.event = cupy.cuda.get_current_stream().record()

    def _check(self, frame: Any, position: Any) -> tuple[Any, int, int]:
        """Return a frame, and column and row of a region that is inside it."""
        self._home.check()
        with self._changed:
            self._check_open()
        device = self._deblurrer.device
        if not isinstance(frame, np.ndarray) and (device == "cpu" or arrays.place(frame) != device):
            raise InputError(
                f"got a frame that is no NumPy array"
                f"{'' if device == 'cpu' else ', nor CuPy there'}, for a stream on {device!r}",
                parameter="frame",
            )
        frame = arrays.plain(frame)
        if frame.ndim != 2:
            raise InputError(
                f"got a frame of shape {frame.shape}; expected (rows, columns) of one plane",
                parameter="frame",
                advice="give the luma of colour frames",
            )
        check_dtype(frame.dtype)
        column, row = settings.position(position)
        rows, columns = self._shape
        if not (0 <= row <= frame.shape[0] - rows and 0 <= column <= frame.shape[1] - columns):
            raise InputError(
                f"a region of {columns}×{rows} at {column},{row} leaves the frame of "
                f"{frame.shape[1]}×{frame.shape[0]} (width × height)",
                parameter="position",
                advice="move it inside",
            )
        return frame, column, row

    def _check_open(self) -> None:
        if self._error is not None:
            raise self._error
        if self._finished:
            raise InputError("this stream was finished or closed; no frame can follow")
