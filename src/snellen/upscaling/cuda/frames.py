"""The GPU backend: frames in flight on a GPU, with chroma there or on the CPU's threads."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, wait
from dataclasses import replace
from time import perf_counter
from weakref import finalize

import numpy as np

from snellen.cpu import threads
from snellen.cpu.pool import Pool
from snellen.engine.engine import SLOTS, Engine
from snellen.engine.streams import Streams
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.gpu.memory import lasting
from snellen.gpu.pages import pinned
from snellen.upscaling.cpu import blanks
from snellen.upscaling.cuda.planes import Planes
from snellen.upscaling.models import Model

TIMED = 3  # frames of each slot that time enlarging chroma on the CPU and on the GPU


class Backend:
    """Enlarges frames of one format on a GPU. Holds all buffers.

    While the GPU computes one frame it receives the next and sends the one before: see `Engine`.

    Parameters
    ----------
    model : Model
    source, target : Format
        Of the frames to come and of the results.
    device : str
        "cuda:N".
    chroma : str
        "cpu": threads enlarge chroma while the GPU enlarges luma; "gpu"; "auto": the faster of
        both. A frame whose planes are on the GPU is enlarged there.
    on_device : bool
        Whether results stay on the GPU; chroma is enlarged there then.
    memory : int, optional
        Bytes of GPU memory for luma's scratch.
    graphs : bool
        Whether a frame's kernels are captured once and launched as one graph, where that works.

    Attributes
    ----------
    chroma : str
        Where the chroma of frames in host memory is enlarged: "cpu" or "gpu".

    Raises
    ------
    DeviceError
        Memory does not suffice, or CUDA failed.
    """

    slots = SLOTS

    def __init__(
        self,
        model: Model,
        source: Format,
        target: Format,
        device: str,
        chroma: str = "auto",
        *,
        on_device: bool = False,
        memory: int | None = None,
        graphs: bool = True,
    ):
        self.source, self.target, self.device, self.graphs = source, target, device, graphs
        self._on_device = on_device
        self._pool = Pool(threads.available())
        self._engines: dict[int, Engine] = {}
        with devices.on(self.device):
            self._streams = streams = Streams.unused(devices.ordinal(device))
            self._give_back = finalize(self, streams.give_back)  # once: closed, or dropped
            with lasting():
                self._planes = Planes(model, source, target, memory)
        self._choose(chroma)

    def run(self, frame: Frame) -> Frame:
        """Return an enlarged frame with new planes.

        May be called from several threads; where they are more than the slots, some wait.
        """
        planes = frame.planes
        if self.chroma == "gpu" or not isinstance(planes[0], np.ndarray):
            pending = self._engine(len(planes)).submit(planes, [frame.ready])
            out = pending.result()
            return replace(frame, planes=out, ready=pending.ready if self._on_device else None)
        with devices.on(self.device):
            large = tuple(pinned(shape, self.target.dtype) for shape in self.target.shapes[1:])
        tasks: list[Future[None]] = []
        try:
            tasks += self._planes.chroma.tasks(self._pool, planes[1:], large)
            (luma,) = self._engine(1).submit(planes[:1]).result()
        except BaseException:
            for task in tasks:
                task.cancel()
            wait(tasks)  # otherwise they would write to planes that are gone
            raise
        for task in tasks:
            task.result()
        return replace(frame, planes=(luma, *large))

    def close(self) -> None:
        """Wait for frames in flight, end the threads and drop all buffers."""
        self._pool.shutdown(cancel_futures=True)
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        self._give_back()
        del self._planes

    def _engine(self, count: int) -> Engine:
        """Return the engine for the first `count` planes of a frame: luma, or all."""
        engine = self._engines.get(count)
        if engine:
            return engine
        with self._streams.lock:
            if count not in self._engines:
                self._engines[count] = Engine(
                    self.device,
                    inputs=[(shape, self.source.dtype) for shape in self.source.shapes[:count]],
                    outputs=[(shape, self.target.dtype) for shape in self.target.shapes[:count]],
                    work=self._planes,
                    slots=self.slots,
                    graphs=self.graphs,
                    on_device=self._on_device,
                    streams=self._streams,
                )
            return self._engines[count]

    def _choose(self, chroma: str) -> None:
        """Decide where chroma is enlarged: as the parameter says, or where it is faster."""
        # Afterwards, all kernels and loops are compiled and all memory is allocated.
        if self._on_device or (chroma == "auto" and self.source.subsampling is None):
            chroma = "gpu"
        if chroma != "auto":
            self.chroma = chroma
            self._seconds(1)
            return
        took = {}
        for where in ("cpu", "gpu"):
            self.chroma = where
            self._seconds(1)
            took[where] = self._seconds(TIMED)
        self.chroma = "cpu" if took["cpu"] < took["gpu"] else "gpu"
        unused = len(self.source.shapes) if self.chroma == "cpu" else 1
        self._engines.pop(unused).close()

    def _seconds(self, frames: int) -> float:
        """Return the seconds that blank frames take, `frames` in each slot, all slots at once."""
        # Numba compiles for contiguous arrays and for those whose rows have a pitch.
        two = [Frame(tuple(blanks(self.source, pitch))) for pitch in (0, 8)]

        def once(number: int) -> None:
            self.run(two[number % 2])

        begin = perf_counter()
        with Pool(self.slots) as callers:
            deque(callers.map(once, range(frames * self.slots)), maxlen=0)
        return perf_counter() - begin
