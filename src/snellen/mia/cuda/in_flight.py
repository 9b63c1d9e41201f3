"""Pictures in flight on a GPU: one is uploaded while another is restored and a third comes back.

It serves periods whose iterations are one launch (see `fused`), so that nothing waits for the GPU
from the upload to the download. All work of a batch is one CUDA graph.

Where a batch leaves most of the GPU idle, as one picture does on the 16 multiprocessors of its
cluster, each slot is a queue of its own, with a stream and buffers that no other one uses: then
several batches are restored side by side, in as many queues as fit into memory. Larger batches
share one queue, and are restored one after another.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
import numpy.typing as npt

from snellen.engine.engine import Engine
from snellen.engine.streams import Streams
from snellen.errors import DeviceMemoryError
from snellen.gpu import device as devices
from snellen.gpu.memory import lasting
from snellen.gpu.profile import stage
from snellen.gpu.reserved import Reserved
from snellen.mia import samples
from snellen.mia.centre import Recentre
from snellen.mia.cuda.frames import Frames
from snellen.mia.cuda.fused import Backend

Array = npt.NDArray[Any]
Results = tuple[Array, Array, Array]
"""Pictures (B, rows, columns), white being 1, PSFs (B, M, K, K) and the data fidelity (B,)."""

Parts = tuple[Frames, Backend]
"""One places pictures on the period, the other restores them: the buffers of a queue."""


class How(NamedTuple):
    """How each batch is restored."""

    start: Any
    """(B, M, H, W) CuPy array: the PSFs that it starts from, on the period."""
    iterations: int
    recentre: Recentre

    def queue(self, parts: Parts, frames: Any, peak: float, results: Any, fit: Any) -> Any:
        """Queue a batch of frames on CuPy's current stream; return its pictures and PSFs.

        These are views of `results`, see `Frames.finish`; `fit` (B,) is filled.
        """
        at, backend = parts
        with stage("place on the period"):
            y, f = at.place(frames, peak)
            backend.start(y, f, self.start)
        with stage("iterations"):
            backend.iterate(self.iterations)
        with stage("data fidelity"):
            h = backend.psf
            fit[...] = backend.fit_on_gpu(h)
        with stage("centre and cut"):
            return at.finish(backend.estimate, h, self.recentre, results)


def _nothing() -> None:
    """Give nothing back: an engine has streams of its own."""


class InFlight:
    """Restores pictures of one shape, several in flight.

    Parameters
    ----------
    device : str
        "cuda:N".
    shape : tuple of int
        (B, M, rows, columns) of a batch of pictures.
    side : int
        K, of the PSFs.
    parts : (Frames, Backend)
        Both are used by this object alone from `submit` until `settle`.
    more : callable
        Returns others like `parts`, for a further queue; they are closed with this object. Where
        the memory does not suffice for them, there are fewer queues.
    how : How

    Raises
    ------
    DeviceError
        CUDA failed. That the memory suffices for one queue is known at the first `submit`.
    """

    def __init__(
        self, device: str, shape: tuple[int, int, int, int], side: int, parts: Parts,
        more: Callable[[], Parts], how: How,
    ):  # fmt: skip
        backend = parts[1]
        self._slots = backend.slots
        self._more: list[Parts] = []
        if backend.leaves_room:
            with suppress(DeviceMemoryError):  # the queues that there are do as well
                while len(self._more) < backend.slots - 1:
                    with devices.on(device), lasting():
                        self._more.append(more())
        streams: list[Streams | None] = [None]
        self._give_back: Callable[[], object] = _nothing
        if self._more:
            with devices.on(device):
                lent = Streams.unused(devices.ordinal(device))
            self._give_back = finalize(self, lent.give_back)
            streams = [*lent.apart()]
        self._queues = [
            _Queue(device, shape, side, one, how, on)
            for one, on in zip((parts, *self._more), streams, strict=False)
        ]
        self._turns = cycle(self._queues)
        self._kind: tuple[np.dtype[Any], float] | None = None

    def submit(self, frames: Array, peak: float) -> Callable[[], Results]:
        """Begin a batch of pictures (B, M, rows, columns); return a function that waits for it.

        `peak` is the sample value of white. The samples go to the GPU in the type that they have.
        The function raises InputError where samples are negative, not finite or far beyond white.
        """
        kind = frames.dtype.newbyteorder("="), peak
        if self._kind != kind:  # a graph holds both: those of all queues are made at once
            self._kind = None
            self._prepare(*kind)
            self._kind = kind
        return next(self._turns).submit(frames, peak)

    def _prepare(self, dtype: np.dtype[Any], peak: float) -> None:
        """Get all queues ready; where the memory does not suffice, those that fit."""
        collected = False
        while True:
            try:
                for queue in self._queues:
                    queue.prepare(dtype, peak, self._slots - len(self._more))
                break
            except DeviceMemoryError:
                for queue in self._queues:
                    queue.close()
                if collected and not self._more:
                    raise
            if collected:
                self._queues.pop()
                self._more.pop()[1].close()
            gc.collect()  # engines that were closed may be in cycles, and hold their memory
            collected = True
        self._turns = cycle(self._queues)

    def settle(self) -> None:
        """Wait until nothing is in flight; results that were not asked for stay valid."""
        for queue in self._queues:
            queue.settle()

    def close(self) -> None:
        """Wait for what is in flight, and release the buffers."""
        for queue in self._queues:
            queue.close()
        for _, backend in self._more:
            backend.close()
        self._more.clear()
        self._give_back()


class _Queue:
    """Restores batches one after another, with several of them on their way."""

    def __init__(
        self, device: str, shape: tuple[int, int, int, int], side: int, parts: Parts, how: How,
        streams: Streams | None,
    ):  # fmt: skip
        self._device, self._shape = device, shape
        self._parts, self._how, self._streams = parts, how, streams
        batch, count, rows, columns = shape
        self._results = batch * (rows * columns + count * side**2) + 1
        self._engine: Engine | None = None
        self._temporary: Reserved | None = None

    def prepare(self, dtype: np.dtype[Any], peak: float, slots: int) -> None:
        """Get ready for samples of a type and a value of white, and for so many batches."""
        self.close()
        self._temporary = Reserved(self._device)
        self._engine = Engine(
            self._device,
            inputs=[(self._shape, dtype)],
            outputs=[((self._results,), np.float32), ((self._shape[0],), np.float64)],
            work=self._restoring(peak),
            slots=slots,
            streams=self._streams,
        )

    def submit(self, frames: Array, peak: float) -> Callable[[], Results]:
        """Begin a batch; see `InFlight.submit`."""
        assert self._engine is not None
        pending = self._engine.submit((frames,))

        def result() -> Results:
            results, fit = pending.result()
            samples.refuse(int(results[-1]), peak)
            return *self._parts[0].views(results), fit.copy()

        return result

    def settle(self) -> None:
        """Wait until nothing is in flight."""
        if self._engine is not None:
            self._engine.streams.settle()

    def close(self) -> None:
        """Wait for what is in flight, and release the engine and the memory of its graphs."""
        engine, self._engine = self._engine, None
        temporary, self._temporary = self._temporary, None
        if engine is not None:
            engine.close()
        if temporary is not None:
            temporary.close()

    def _restoring(self, peak: float) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
        """Return what queues the restoration of a batch on CuPy's current stream."""
        temporary = self._temporary
        assert temporary is not None

        def work(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
            with temporary.allocating():
                self._how.queue(self._parts, inputs[0], peak, *outputs)

        return work
