"""The GPU backend of MAD: detection and appearance on two streams, then both are combined.

Each half of a comparison processes one plane: the statistics of the reference are kept, and those
of the distorted picture are compared with them. Only four numbers are copied back, and maps where
they are asked for. Several comparisons may be in flight: planes in main memory go through engines,
which upload the next ones while a pair is computed and maps of the one before come back; planes on
the GPU are read on the caller's stream. All use the same buffers; the event `done` orders them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from snellen.engine.engine import SLOTS, Engine
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.gpu.graph import Work, capture, synchronize
from snellen.gpu.memory import callers, lasting
from snellen.mad.cuda.appearance import ALL, Appearance
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.detection import Detection
from snellen.mad.cuda.flat import Flat
from snellen.mad.cuda.numbers import Pending
from snellen.mad.cuda.precision import chosen, samples
from snellen.mad.definition import Definition
from snellen.mad.result import PendingScore, Score

REFERENCE, DISTORTED = 0, 1


class Backend:
    """MAD for planes of one format on a GPU; computes one pair after another.

    Parameters
    ----------
    definition : Definition
    format : Format
        Luma only.
    peak : float
        The sample value of white.
    device : str
        "cuda:N".
    dtype : str, optional
        "float32" or "float64"; see `precision`.
    bands, guests : range, int
        See `Appearance`.
    graphs : bool
        Whether the kernels of each half, and those of both, are captured as CUDA graphs, where that
        works.

    Attributes
    ----------
    samples : (2, H, W) CuPy array of the format's type
        The reference and the distorted picture.
    run_reference, run_comparison, run_pair : callables
        Queue, on CuPy's current stream, the work of `set_reference`, and of `submit` without and
        with a reference, on `samples`. With guests the latter two leave out `finish`.
    finish : callable
        Queues the last step, from the differences to the score.
    done : cupy.cuda.Event
        After it, nobody uses the buffers.

    Raises
    ------
    DeviceError
        The GPU's memory does not suffice, or what CUDA says.
    """

    slots = SLOTS

    def __init__(
        self, definition: Definition, format: Format, peak: float, device: str,
        dtype: str | None = None, *, bands: range = ALL, guests: int = 0, graphs: bool = True,
    ):  # fmt: skip
        import cupy

        self.device = device
        self.dtype = dtype = dtype or chosen(format.height, format.width)
        with devices.on(self.device), lasting():
            self._beside = cupy.cuda.Stream(non_blocking=True)
            self.samples = cupy.zeros((2, format.height, format.width), samples(format, dtype))
            self._out = cupy.zeros(4, cupy.float64)  # MAD, HI, LO; whether areas are flat
            self._flat = Flat(format, dtype) if dtype == "float32" else None
            self._combine = Combine(definition, format, peak, dtype)
            self._detection = Detection(definition, format, peak, dtype, self._combine)
            self.appearance = Appearance(definition, format, peak, dtype, bands, guests)
        with devices.on(self.device), cupy.cuda.Stream(non_blocking=True) as own:
            self._compare(True, True)  # a capture cannot load kernels
            make = capture if graphs else _unchanged
            self.run_reference = make(self._set_reference)
            self.run_comparison = make(partial(self._compare, False, not guests))
            self.run_pair = make(partial(self._compare, True, not guests))
            self.finish = make(self._finish)
            self._pending = Pending()
            self.done = cupy.cuda.Event(disable_timing=True)
            self.done.record(own)
            own.synchronize()
        self._graphs = graphs
        self._engines: dict[tuple[bool, bool], Engine] = {}

    def set_reference(self, reference: Any) -> None:
        """Compute the reference's half and keep it until the next reference.

        Parameters
        ----------
        reference : (H, W) array
            NumPy, or CuPy on this GPU. Work is ordered on CuPy's current stream.
        """
        with devices.on(self.device), self.in_order():
            stage(reference, None, self.samples)
            self.run_reference()

    def submit(
        self, reference: Any, distorted: Any, maps: bool = False, in_flight: bool = False,
        to_host: bool = False,
    ) -> PendingScore:  # fmt: skip
        """Begin a comparison, with the reference that is set where `reference` is None.

        With `in_flight` planes in main memory are uploaded while an earlier pair is computed, and
        maps come back meanwhile; the engines for that are made at their first use.

        Returns
        -------
        callable
            Waits for the score, with new maps where asked for: NumPy's for a NumPy plane, and for
            any `to_host`; else CuPy's. And whether one of the pictures has areas for which float32
            does not suffice; never in float64.
        """
        planes = (distorted,) if reference is None else (reference, distorted)
        if in_flight and all(isinstance(plane, np.ndarray) for plane in planes):
            return self._submit_from_host(planes, maps)
        with devices.on(self.device), self.in_order():
            stage(reference, distorted, self.samples)
            (self.run_comparison if reference is None else self.run_pair)()
            return self.fetch(maps, to_host or isinstance(distorted, np.ndarray))

    def fetch(self, maps: bool, host: bool) -> PendingScore:
        """Queue the copy of the last comparison's numbers to the host; see `submit`.

        `maps`: whether there are maps, which go to the host, too, if `host`.
        """
        import cupy

        numbers = self._pending.take()
        self._out.data.copy_to_host_async(numbers.array.ctypes.data, numbers.array.nbytes)
        both = self._maps(host) if maps else ()
        numbers.arrived.record(cupy.cuda.get_current_stream())
        found: list[tuple[Score, bool]] = []

        def result() -> tuple[Score, bool]:
            if not found:
                with devices.on(self.device):
                    numbers.arrived.synchronize()
                    mad, hi, lo, flat = numbers.array.tolist()
                    numbers.awaited = False
                    planes = (plane.get() if host else plane for plane in both)
                    found.append((Score(mad, hi, lo, *planes), flat > 0))
            return found[0]

        return result

    def close(self) -> None:
        """Release the memory."""
        for engine in reversed(self._engines.values()):  # the first one's streams are shared
            engine.close()
        self._engines.clear()
        with devices.on(self.device):
            synchronize()
            del self.run_reference, self.run_comparison, self.run_pair, self.finish, self.samples
            del self._detection, self.appearance, self._combine, self._out

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Order work on the current stream after all earlier work with the buffers."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        stream.wait_event(self.done)
        yield
        self.done.record(stream)

    @property
    def reference(self) -> Any:
        """The samples of the reference that is set, copied on CuPy's current stream."""
        with devices.on(self.device), self.in_order():
            return self.samples[REFERENCE].copy()

    def _submit_from_host(self, planes: tuple[Any, ...], maps: bool) -> PendingScore:
        """Begin a comparison of planes in main memory in a slot of an engine."""
        # Planes: the distorted one, after the reference where that is not the one that is set.
        with devices.on(self.device):
            engine = self._engines.get((len(planes) == 2, maps)) or self._made(len(planes), maps)
            with engine.streams.lock:
                compute = engine.streams.compute
                compute.wait_event(self.done)
                pending = engine.submit(planes)
                self.done.record(compute)

        def result() -> tuple[Score, bool]:
            numbers, *both = pending.result()
            mad, hi, lo, flat = numbers.tolist()
            return Score(mad, hi, lo, *both), flat > 0

        return result

    def _made(self, planes: int, maps: bool) -> Engine:
        """Return a new engine; it computes with blank planes, in the same buffers as all others."""
        self.done.synchronize()
        shape = self.samples.shape[1:]
        outputs: list[Any] = [((4,), np.float64), *([(shape, self.dtype)] * 2 if maps else ())]
        first = next(iter(self._engines.values()), None)
        engine = Engine(
            self.device, [(shape, self.samples.dtype)] * planes, outputs, self._in_slot,
            slots=SLOTS, graphs=self._graphs, streams=first.streams if first else None,
        )  # fmt: skip
        self._engines[planes == 2, maps] = engine
        return engine

    def _in_slot(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Queue the work for planes that lie in a slot of an engine."""
        reference = inputs[0] if len(inputs) == 2 else None
        stage(reference, inputs[-1], self.samples)
        self._compare(reference is not None, True)
        numbers, *both = outputs
        numbers.data.copy_from_device_async(self._out.data, self._out.nbytes)
        if both:
            self._fill(*both)

    def _set_reference(self) -> None:
        with self._on_second_stream():
            self._detection.set_reference(self.samples[REFERENCE])
        self.appearance.set_reference(self.samples[REFERENCE])
        self._join()

    def _compare(self, pair: bool, finishes: bool) -> None:
        """Queue a comparison, of a `pair` with the reference's half, and the last step."""
        self._out.fill(0)
        with self._on_second_stream():
            self._find_flat_areas()
            if pair:
                self._detection.set_reference(self.samples[REFERENCE])
            self._detection.compare(*self.samples)
        if pair:
            self.appearance.pair(*self.samples)
        else:
            self.appearance.compare(self.samples[DISTORTED])
        self._join()
        if finishes:
            self._finish()

    def _find_flat_areas(self) -> None:
        if self._flat:
            with profile.stage("flat areas"):
                self._flat(self.samples, self._out[3:])

    def _finish(self) -> None:
        with profile.stage("sum of differences"):
            self._combine.appearance(self.appearance.differences)
        with profile.stage("score"):
            self._combine.score(self._out)

    @contextmanager
    def _on_second_stream(self) -> Iterator[None]:
        """Order work on a stream that goes on beside the current one, from here on."""
        # While stages are timed, it is the current one.
        import cupy

        if profile.active():
            yield
            return
        self._beside.wait_event(cupy.cuda.get_current_stream().record())
        with self._beside:
            yield

    def _join(self) -> None:
        """Let the current stream wait for the one beside it."""
        import cupy

        cupy.cuda.get_current_stream().wait_event(self._beside.record())

    def _maps(self, host: bool) -> tuple[Any, Any]:
        """Return the maps of the last comparison as new arrays: the caller's, or for the `host`."""
        import cupy

        shape = self.samples.shape[1:]
        with nullcontext() if host else callers():
            detection, appearance = (cupy.empty(shape, self.dtype) for _ in range(2))
        self._fill(detection, appearance)
        return detection, appearance

    def _fill(self, detection: Any, appearance: Any) -> None:
        """Fill the maps of the last comparison."""
        self._detection.map(self.samples[REFERENCE], self.samples[DISTORTED], detection)
        self._combine.expand(self.appearance.differences[0], appearance)


def stage(reference: Any, distorted: Any, samples: Any) -> None:
    """Copy planes of NumPy or CuPy to `samples` on the GPU, on the current stream.

    None leaves its plane of `samples` unchanged.
    """
    import cupy

    kept = []
    for plane, place in ((reference, REFERENCE), (distorted, DISTORTED)):
        if isinstance(plane, np.ndarray):
            kept.append(np.ascontiguousarray(plane, samples.dtype))
            samples[place].set(kept[-1])
        elif plane is not None and plane.dtype == samples.dtype and plane.flags.c_contiguous:
            samples[place].data.copy_from_device_async(plane.data, plane.nbytes)
        elif plane is not None:
            samples[place][...] = plane
    if kept:
        # From page-locked memory `set` returns before the copy is done.
        cupy.cuda.get_current_stream().synchronize()


def _unchanged(work: Work) -> Work:
    return work
