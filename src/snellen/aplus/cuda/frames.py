"""The GPU arm: frame → page-locked → GPU → all steps → page-locked; chroma there or beside it.

Three frames in three lanes overlap: while one is computed, the next one goes up and the one before
comes down, each on a stream of its own. All lanes share one stream of kernels, and so the scratch
of all steps. Python's part of a frame, in which no other thread runs Python, is some 20 calls; who
waits for the GPU sleeps.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from queue import LifoQueue
from time import perf_counter
from typing import Any

from snellen.aplus.cpu import blanks
from snellen.aplus.cuda.lane import Lane
from snellen.aplus.cuda.planes import Planes
from snellen.aplus.model import Model
from snellen.cpu import threads
from snellen.frames.frame import Format, Plane
from snellen.gpu import device as devices
from snellen.gpu.memory import pinned

TRIAL = 3  # frames of each lane by which the ways of chroma are compared


class Frames:
    """A+ for frames of one format on a GPU. Holds all buffers.

    Parameters
    ----------
    model : Model
    source, target : Format
        Of the frames to come and of the results.
    device : str
        "cuda:N".
    chroma : str
        "cpu": threads enlarge chroma while the GPU enlarges luma; "gpu"; "auto": the faster one.
    memory : int, optional
        Bytes of the GPU's memory for luma's scratch.
    graphs : bool
        Whether a frame's kernels are recorded once and launched as one, where that works.

    Raises
    ------
    DeviceError
        Memory does not suffice, or what CUDA says.
    """

    lanes = 3  # one goes up, one is computed, one comes down

    def __init__(
        self,
        model: Model,
        source: Format,
        target: Format,
        device: str,
        chroma: str = "auto",
        *,
        memory: int | None = None,
        graphs: bool = True,
    ):
        import cupy

        self.source, self.target, self.device, self.graphs = source, target, device, graphs
        self._pool = ThreadPoolExecutor(threads.available(), thread_name_prefix="snellen")
        self._turn = threading.Lock()
        with self._on_gpu():
            streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
            self._up, self._compute, self._down = streams
            with self._compute:
                self._planes = Planes(model, source, target, memory)
            self._choose(chroma)

    def run(self, planes: tuple[Plane, ...]) -> tuple[Plane, ...]:
        """Return the planes of an enlarged frame, new and page-locked.

        May be called from several threads; where they are more than the lanes, some wait.
        """
        with self._on_gpu():
            tasks: list[Future[None]] = []
            lane = self._free.get()
            try:
                out = tuple(pinned(s, self.target.dtype) for s in self.target.shapes)
                if self.chroma == "cpu":
                    tasks += self._planes.chroma.tasks(self._pool, planes, out)
                lane.stage(planes)
                with self._turn:
                    self._enqueue(lane, out)
                lane.done.synchronize()
                wait(tasks)
            except BaseException:
                self._settle(tasks)  # or `planes` and `out` would be touched after their end
                raise
            finally:
                self._free.put(lane)
        for task in tasks:
            task.result()
        return out

    def close(self) -> None:
        """End the threads and give memory back, also that of results that nobody holds."""
        self._pool.shutdown(cancel_futures=True)
        with self._on_gpu():
            import cupy

            del self._free, self._planes
            cupy.get_default_memory_pool().free_all_blocks(stream=self._compute)
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    @contextmanager
    def _on_gpu(self) -> Iterator[None]:
        with devices.using(self.device), devices.reporting():
            yield

    def _enqueue(self, lane: Lane, out: tuple[Plane, ...]) -> None:
        """Order all that the GPU does for a frame; in turns, since the scratch is shared."""
        lane.upload(self._up)
        self._compute.wait_event(lane.arrived)
        if lane.graph:
            lane.graph.launch(stream=self._compute)
        else:
            with self._compute:
                self._planes(lane.planes, lane.out)
        lane.made.record(self._compute)
        lane.download(out, self._down)

    def _settle(self, tasks: list[Future[None]]) -> None:
        """Wait until nothing touches a frame any more, whatever went wrong."""
        for task in tasks:
            task.cancel()
        wait(tasks)
        for stream in (self._up, self._compute, self._down):
            with suppress(Exception):
                stream.synchronize()

    def _choose(self, chroma: str) -> None:
        """Make the lanes, with chroma as asked or as it goes faster; every kernel has run then."""
        if self.source.subsampling is None and chroma == "auto":
            chroma = "gpu"  # there is none
        if chroma != "auto":
            self._make(chroma)
            self._seconds(1)
            return
        took = {}
        for way in ("cpu", "gpu"):
            self._make(way)
            self._seconds(1)
            took[way] = self._seconds(TRIAL)
        if took["cpu"] < took["gpu"]:
            self._make("cpu")

    def _make(self, chroma: str) -> None:
        """Make the lanes."""
        self.chroma = chroma
        count = 1 if chroma == "cpu" else len(self.source.shapes)
        self._free: LifoQueue[Lane] = LifoQueue()
        with self._compute:
            made = [Lane(self.source, self.target, count) for _ in range(self.lanes)]
            for lane in made:
                self._planes(lane.planes, lane.out)  # loads the kernels, which a graph cannot
                lane.graph = self._recorded(lane) if self.graphs else None
                self._free.put(lane)
        self._compute.synchronize()

    def _recorded(self, lane: Lane) -> Any:
        """Return a lane's kernels as one graph; None where they cannot be recorded."""
        try:
            self._compute.begin_capture()
            try:
                self._planes(lane.planes, lane.out)
            finally:
                graph = self._compute.end_capture()
            graph.upload(stream=self._compute)  # now, and not at its first launch
        except RuntimeError:  # CUDA's and ours; kernels launched one by one do as well
            return None
        return graph

    def _seconds(self, frames: int) -> float:
        """Return how long blank frames take, so many in each lane and all lanes at once."""
        # Numba compiles for rows that lie end to end and for those that do not.
        two = [tuple(blanks(self.source, pitch)) for pitch in (0, 8)]

        def once(number: int) -> None:
            self.run(two[number % 2])  # and let go of it

        begin = perf_counter()
        with ThreadPoolExecutor(self.lanes) as callers:
            deque(callers.map(once, range(frames * self.lanes)), maxlen=0)
        return perf_counter() - begin
