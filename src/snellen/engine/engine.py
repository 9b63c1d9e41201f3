"""Frames in flight on one GPU: one is uploaded, one computed and one downloaded at a time.

An engine knows shapes and types, and not what is computed. A method gives it a function that fills
the outputs from the inputs, both arrays on the GPU::

    def work(inputs, outputs):  # kernels on CuPy's current stream; must not wait for them
        (plane,), (large, mean) = inputs, outputs
        enlarge(plane, large)
        average(large, mean)

    engine = Engine(
        "cuda:0",
        inputs=[((1080, 1920), np.uint8)],
        outputs=[((2160, 3840), np.uint8), ((1,), np.float64)],
        work=work,
    )
    pending = engine.submit([plane])  # returns when the plane is copied, not when it is computed
    large, mean = pending.result()  # new arrays in host memory, for the caller to keep
    engine.close()

One thread may submit several frames and then ask for their results in turn, or several threads
each submit one and wait for it. Each frame takes a slot: whoever submits the next waits until the
frame that had the slot before has left the GPU.

Steps of a chain hand over planes without a trip through the host. With ``on_device=True`` results
are CuPy arrays, which may be read after an event; the next engine takes both::

    pending = engine.submit([plane])
    larger = next_engine.submit(pending.result(), ready=[pending.ready])

What orders the work
    Uploads, kernels and downloads each have a stream. Within a frame, events order them: `arrived`
    (the inputs are on the GPU), `made` (the outputs are computed), `done` (the results are where
    they belong). All frames share the compute stream, and with it all scratch arrays of `work`:
    frames are computed one after another, in the order in which they were queued. A lock keeps the
    calls of a frame together.

What keeps memory alive
    A slot holds the inputs on the GPU and the results of its frame until the host has seen `done`,
    also where the caller has dropped them. Results in host memory are page-locked; when they are
    dropped their memory goes back to CuPy's pool for later frames. Results on the GPU are new
    arrays for each frame, too. Whoever reads them holds them until the host has seen the end of
    its work (the next engine does so); then their memory serves later frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from snellen.engine.slots import DOWN, ON_GPU, Arrays, Flight, Kind, Slot, copy
from snellen.engine.streams import Streams
from snellen.errors import InputError
from snellen.gpu import device as devices
from snellen.gpu.graph import capture
from snellen.gpu.memory import lasting
from snellen.gpu.pages import mapped, pinned
from snellen.gpu.profile import paused, stage
from snellen.process import Home

SLOTS = 3  # one frame is uploaded, one computed, one downloaded


class Pending:
    """A frame in flight.

    Attributes
    ----------
    ready : cupy.cuda.Event
        After it the results may be read.
    """

    def __init__(self, device: str, flight: Flight, outputs: Arrays, on_device: bool):
        self._device, self._flight, self._outputs = device, flight, outputs
        self._on_device = on_device
        self.ready = flight.done

    def result(self) -> Arrays:
        """Return the results.

        Results in host memory are complete: the thread sleeps until they are. Results on the GPU
        are returned at once, and whoever reads them waits for `ready` first. They belong to the
        caller: the engine never writes to them again.

        Raises
        ------
        DeviceError
            CUDA failed.
        """
        if not self._on_device:
            with devices.on(self._device):
                self.ready.synchronize()
            self._flight.release()
        return self._outputs


class Engine:
    """Computes frames on one GPU, several in flight. May be used from several threads.

    Parameters
    ----------
    device : str
        "cuda:N".
    inputs, outputs : sequence of (shape, dtype)
        Arrays that a frame consists of, and those that its result consists of. A few numbers are
        an output as well: ((4,), np.float64).
    work : callable
        work(inputs, outputs) queues kernels on CuPy's current stream. Both are tuples of CuPy
        arrays, contiguous, the same ones for each frame of a slot. It may use scratch arrays of its
        own, the same for all slots.
    slots : int
        Frames in flight.
    graphs : bool
        Whether `work` is captured as a CUDA graph for each slot, where that works; it runs once on
        zeros then. Without graphs it may also wait for the GPU.
    on_device : bool
        Whether results stay on the GPU, as CuPy arrays.
    streams : Streams, optional
        Those of another engine whose `work` uses the same scratch arrays; its own by default.
    direct : bool
        Whether `work` writes into page-locked memory, so that no download follows: a single frame
        comes back sooner. It writes each sample once and reads none of its outputs. They are
        others for each frame, so it is no graph; not with `on_device`. Whoever waits for it does
        not sleep.
    staged : int, optional
        So many of the first inputs may come from host memory, for which each slot has page-locked
        memory; the others are always on the GPU. None: all may.

    Attributes
    ----------
    streams : Streams
    captured : bool
        Whether `work` is launched as a graph.

    Raises
    ------
    DeviceError
        Memory does not suffice, or CUDA failed.
    """

    def __init__(
        self,
        device: str,
        inputs: Sequence[Kind],
        outputs: Sequence[Kind],
        work: Callable[[Arrays, Arrays], object],
        *,
        slots: int = SLOTS,
        graphs: bool = True,
        on_device: bool = False,
        streams: Streams | None = None,
        direct: bool = False,
        staged: int | None = None,
    ):
        self.device, self._outputs, self._on_device = device, tuple(outputs), on_device
        self._work = work if direct else None
        self._ordinal = devices.ordinal(device)
        self._closed, self._home = False, Home("this engine")
        self._free: SimpleQueue[Slot | None] = SimpleQueue()
        with devices.on(self.device):
            self._shared = streams is not None
            self.streams = streams or Streams.unused(self._ordinal)
            try:
                with lasting():
                    made = [Slot(inputs, () if direct else outputs, staged) for _ in range(slots)]
                with paused(), self.streams.lock, self.streams.compute as compute:
                    if direct:
                        first = self._new(0)  # kernels are loaded
                        work(made[0].inputs, self._mapped(first))
                    for slot in () if direct else made:
                        slot.launch = once = partial(work, slot.inputs, slot.outputs)
                        if graphs:
                            once()  # a capture cannot load kernels
                            slot.launch = capture(once)
                    compute.synchronize()
            except BaseException:
                self.close()  # now: the error holds this engine, for who knows how long
                raise
            self.captured = graphs and not direct and slot.launch is not once
        for slot in made:
            self._free.put(slot)

    def submit(
        self,
        inputs: Sequence[Any],
        ready: Iterable[Any] = (),
        out: Sequence[Any] = (),
    ) -> Pending:
        """Begin a frame; wait for a free slot where all are taken.

        Parameters
        ----------
        inputs : sequence of arrays
            Shaped as the engine's inputs; rows may have a pitch. NumPy arrays are copied before
            this returns. CuPy arrays of this GPU are copied on the GPU, and are not to be written
            to before the result is ready.
        ready : iterable of cupy.cuda.Event or None
            After these events CuPy arrays may be read; None stands for at once.
        out : sequence of arrays
            Where the first results go, contiguous and in page-locked memory; others are new arrays.
            The caller holds them until the result is ready. Not with `on_device`.

        Raises
        ------
        InputError
            The engine is closed, or an array has another shape, or lies on another GPU.
        DeviceError
            Memory does not suffice, or CUDA failed.
        """
        self._home.check()
        inputs = tuple(inputs)
        with devices.on(self.device):
            slot = self._take()
            try:
                slot.vacate()
                slot.check(inputs, self._ordinal)
                outputs = (*self._given(out), *self._new(len(out)))
                flight = slot.flight = Flight(inputs, outputs, sleeps=self._work is None)
                try:
                    with self.streams.up as up, stage("upload"):
                        lent = slot.send(inputs, up)
                    with self.streams.lock:
                        if self._closed:
                            raise _closed()
                        outputs = self._queue(slot, flight, inputs, ready)
                    if lent:  # and not ours, so that it may be another's from now on
                        slot.arrived.synchronize()
                except BaseException:
                    self.streams.settle()  # or arrays would be touched after their end
                    raise
            finally:
                if not self._closed:
                    self._free.put(slot)
        return Pending(self.device, flight, outputs, self._on_device)

    def close(self) -> None:
        """Wait for the frames in flight, whose results stay valid, and drop all buffers."""
        if self._home.keep(self.__dict__):
            return
        with self.streams.lock:
            again, self._closed = self._closed, True
        with devices.on(self.device):
            self.streams.settle()
            with suppress(Empty):
                while True:
                    self._free.get_nowait()
            self._free.put(None)  # wakes those who wait for a slot
        if not again and not self._shared:
            self.streams.give_back()

    def __del__(self) -> None:
        with suppress(Exception):  # it was not made, or CUDA is gone as the process ends
            if not self._closed:
                self.close()

    def _queue(
        self,
        slot: Slot,
        flight: Flight,
        inputs: Arrays,
        ready: Iterable[Any],
    ) -> Arrays:
        """Queue all that the GPU does for a frame; return its results."""
        streams = self.streams
        for event in ready:
            if event is not None:
                streams.up.wait_event(event)
        with streams.up:
            slot.receive(inputs, streams.up)
        slot.arrived.record(streams.up)
        streams.compute.wait_event(slot.arrived)
        with streams.compute:
            if self._work:
                self._work(slot.inputs, self._mapped(flight.outputs))
                flight.done.record(streams.compute)
                return flight.outputs
            slot.launch()
            if self._on_device:
                for there, result in zip(slot.outputs, flight.outputs, strict=True):
                    copy(there.data.ptr, result.data.ptr, there.nbytes, ON_GPU, streams.compute)
                flight.done.record(streams.compute)
                return flight.outputs
        slot.made.record(streams.compute)
        streams.down.wait_event(slot.made)
        with streams.down, stage("download"):
            for there, result in zip(slot.outputs, flight.outputs, strict=True):
                copy(there.data.ptr, result.ctypes.data, there.nbytes, DOWN, streams.down)
        flight.done.record(streams.down)
        return flight.outputs

    def _given(self, out: Sequence[Any]) -> Arrays:
        """Return the caller's arrays for the first results (InputError: they do not fit)."""
        for array, (shape, dtype) in zip(out, self._outputs, strict=False):
            kind = array.shape, array.dtype, array.flags.c_contiguous and array.flags.writeable
            if kind != (shape, dtype, True):
                raise InputError(
                    f"got an array {array.shape} of {array.dtype} for a result; expected {shape} "
                    f"of {np.dtype(dtype)}, contiguous and writable"
                )
        return tuple(out)

    def _new(self, first: int) -> Arrays:
        """Return new arrays for the results of a frame from number `first` on."""
        if not self._on_device:
            return tuple(pinned(*kind) for kind in self._outputs[first:])
        import cupy

        with _idle(self._ordinal):
            return tuple(cupy.empty(*kind) for kind in self._outputs)

    def _mapped(self, outputs: Arrays) -> Arrays:
        """Return results in page-locked memory as the GPU writes them."""
        return tuple(mapped(array, self._ordinal) for array in outputs)

    def _take(self) -> Slot:
        slot = self._free.get()
        if slot is None:
            self._free.put(None)  # for the next who waits
            raise _closed()
        return slot


@cache
def _idle(ordinal: int) -> Any:
    """Return a stream of the current GPU on which nothing ever runs."""
    # CuPy's pool keeps the memory of each stream apart. What is allocated on this one was used by
    # results before, whose readers are done, so that any stream may write to it at once.
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def _closed() -> InputError:
    return InputError("the engine is closed; make a new one")
