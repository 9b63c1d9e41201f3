"""A region of each frame of a film, restored while the film goes on."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames import arrays, values
from snellen.frames.axes import check_dtype
from snellen.frames.frame import Format
from snellen.frames.placement import taken
from snellen.mia import settings
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.stream_thread import PATIENCE, Core, Job, Region
from snellen.process import Holder, Home

__all__ = ["POLICIES", "Region", "Stream"]

POLICIES = ("block", "drop")


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
    do not count as dropped. A stream that nobody holds any more closes itself. One thread pushes
    and one thread takes, the same or another. Results come in the order of their frames, and all of
    them wait until they are taken.

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
        size = settings.whole("queue", queue)
        policy = values.choice("policy", policy, POLICIES)
        self._shape = rows, columns = settings.shape(shape)
        deblurrer.prepare(Format(columns, rows, 0, white=settings.white(data_range)))
        self._home = Home(self._what)
        self._core = core = Core(deblurrer, size, policy == "drop")
        self._thread = threading.Thread(target=core.work, daemon=True, name="snellen stream")
        self._thread.start()
        # The thread holds the core only, so that a stream that nobody holds is collected.
        forgotten = weakref.finalize(self, _forget, self._home, core)
        forgotten.atexit = False

    @property
    def dropped(self) -> int:
        """How many regions were dropped so far."""
        return self._core.dropped

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
        job = Job((column, row), since)
        self._copy(frame[row : row + rows, column : column + columns], job)
        return self._core.put(job)

    def pop(self, wait: bool = True) -> Region | None:
        """Return the next result; None: none is ready (not wait), or none will come.

        Raises
        ------
        SnellenError
            What stopped the stream, after all results before it.
        """
        self._home.check()
        return self._core.take(wait)

    def __iter__(self) -> Iterator[Region]:
        """Yield all results until the stream is finished and nothing is left."""
        while region := self.pop():
            yield region

    def finish(self) -> None:
        """Say that no more frames come; what waits is still restored."""
        self._home.check()
        self._core.finish()

    def close(self) -> None:
        """Stop: what waits, and results that were not taken, are thrown away.

        This waits for the region in work, at most for that one.
        """
        if self._home.keep(self.__dict__):
            return
        self._core.stop()
        while self._thread.is_alive():
            self._thread.join(PATIENCE)
        self._core.close()

    def _copy(self, region: Any, job: Job) -> None:
        """Put a copy into the job; on a GPU it is made on the caller's stream."""
        if isinstance(region, np.ndarray):
            job.picture = region.copy()
            return
        with arrays.working(region, self._core.deblurrer.device):
            import cupy

            job.picture = region.copy()
            job.event = cupy.cuda.get_current_stream().record()

    def _check(self, frame: Any, position: Any) -> tuple[Any, int, int]:
        """Return a frame, and column and row of a region that is inside it."""
        self._home.check()
        self._core.check_open()
        frame = taken(frame, self._core.deblurrer.device, "frame", "stream", parameter="frame")
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


def _forget(home: Home, core: Core) -> None:
    """Stop the thread of a stream that nobody holds any more, which then closes the Deblurrer."""
    if not home.keep(core):
        core.stop(forgotten=True)
