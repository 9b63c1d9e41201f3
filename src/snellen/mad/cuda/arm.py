"""The GPU arm: detection beside appearance; combine.

Both halves of a comparison take the same way, one plane at a time: what the reference gives is
kept, what the distorted picture gives is compared with it. Only three numbers come back, and maps
where they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from snellen import device as devices
from snellen.frame import Format
from snellen.mad.cuda.appearance import ALL, Appearance
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.detection import Detection
from snellen.mad.cuda.flat import Flat
from snellen.mad.cuda.precision import chosen, samples
from snellen.mad.definition import Definition
from snellen.mad.result import Score

REFERENCE, DISTORTED = 0, 1


class Arm:
    """MAD for planes of one format on a GPU. Holds all buffers; one pair at a time.

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
        Whether the kernels of each half are recorded once and launched as one, where that works.

    Attributes
    ----------
    samples : (2, H, W) CuPy array of the format's type
        The reference and the distorted picture, as they came.
    hold_staged, compare_staged : callables
        What `hold` and `against` do with `samples`, on CuPy's current stream.
    flat : bool
        Whether one of the pictures compared last has areas for which float32 does not suffice;
        never in float64.
    finish : callable
        The end of `compare_staged`, from the differences to the score, that with guests waits for
        theirs.

    Raises
    ------
    DeviceError
        The GPU's memory does not suffice, or what CUDA says.
    """

    def __init__(
        self,
        definition: Definition,
        format: Format,
        peak: float,
        device: str,
        dtype: str | None = None,
        *,
        bands: range = ALL,
        guests: int = 0,
        graphs: bool = True,
    ):
        import cupy

        self.device = device
        self.dtype = dtype = dtype or chosen(format.height, format.width)
        with self.on_gpu(), cupy.cuda.Stream(non_blocking=True) as own:
            self._beside = cupy.cuda.Stream(non_blocking=True)
            self.samples = cupy.zeros((2, format.height, format.width), samples(format, dtype))
            self._out = cupy.zeros(4, cupy.float64)  # MAD, HI, LO; whether areas are flat
            self._flat = Flat(format, dtype) if dtype == "float32" else None
            self._combine = Combine(definition, format, peak, dtype)
            self._detection = Detection(definition, format, peak, dtype, self._combine)
            self.appearance = Appearance(definition, format, peak, dtype, bands, guests)
            make = recorded if graphs else loaded
            self.hold_staged = make(self._hold)
            self.compare_staged = make(self._compare if guests else self._whole)
            self.finish = make(self._finish)
            self._done = own.record()
            own.synchronize()

    def hold(self, reference: Any) -> None:
        """Compute the reference's half and keep it until the next.

        Parameters
        ----------
        reference : (H, W) array
            NumPy, or CuPy on this GPU. Work is ordered on CuPy's current stream.
        """
        with self.on_gpu(), self.in_turn():
            stage(reference, self.samples[REFERENCE])
            self.hold_staged()

    def against(self, distorted: Any, maps: bool = False) -> Score:
        """Compare with the reference held.

        Returns
        -------
        Score
            With new maps, where asked for: NumPy's for a NumPy plane, else CuPy's.
        """
        with self.on_gpu(), self.in_turn():
            stage(distorted, self.samples[DISTORTED])
            self.compare_staged()
            return self.score(maps, isinstance(distorted, np.ndarray))

    def score(self, maps: bool, host: bool) -> Score:
        """Return what was compared last, the maps copied to the host or not; set `flat`."""
        *numbers, flat = (float(number) for number in self._out.get())
        self.flat = flat > 0
        both = self._maps() if maps else ()
        return Score(*numbers, *(plane.get() if host else plane for plane in both))

    def close(self) -> None:
        """Give the memory back."""
        import cupy

        with self.on_gpu():
            cupy.cuda.Device().synchronize()
            del self.hold_staged, self.compare_staged, self.finish, self.samples
            del self._detection, self.appearance, self._combine, self._out
            cupy.get_default_memory_pool().free_all_blocks()

    @contextmanager
    def on_gpu(self) -> Iterator[None]:
        """Make the GPU current, and raise what CUDA says as DeviceError."""
        with devices.using(self.device), devices.reporting():
            yield

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Order work after what another stream may still do with our buffers."""
        import cupy

        cupy.cuda.get_current_stream().wait_event(self._done)
        yield
        self._done = cupy.cuda.get_current_stream().record()

    @property
    def reference(self) -> Any:
        """The samples that are held."""
        return self.samples[REFERENCE]

    def _hold(self) -> None:
        with self._aside():
            self._detection.hold(self.samples[REFERENCE])
        self.appearance.hold(self.samples[REFERENCE])
        self._joined()

    def _compare(self) -> None:
        self._out.fill(0)
        if self._flat:
            self._flat(self.samples, self._out[3:])
        with self._aside():
            self._detection.against(self.samples[REFERENCE], self.samples[DISTORTED])
        self.appearance.against(self.samples[DISTORTED])
        self._joined()

    def _whole(self) -> None:
        self._compare()
        self._finish()

    def _finish(self) -> None:
        self._combine.looks(self.appearance.differences)
        self._combine.score(self._out)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Order work on a stream that goes on beside the current one, from here on."""
        import cupy

        self._beside.wait_event(cupy.cuda.get_current_stream().record())
        with self._beside:
            yield

    def _joined(self) -> None:
        """Let the current stream wait for the one beside it."""
        import cupy

        cupy.cuda.get_current_stream().wait_event(self._beside.record())

    def _maps(self) -> tuple[Any, Any]:
        import cupy

        shape = self.samples.shape[1:]
        detection, appearance = (cupy.empty(shape, self.dtype) for _ in range(2))
        self._detection.map(self.samples[REFERENCE], self.samples[DISTORTED], detection)
        self._combine.spread(self.appearance.differences[0], appearance)
        return detection, appearance


def stage(plane: Any, out: Any) -> None:
    """Copy a plane of NumPy's or CuPy's to the GPU's `out`, on the current stream."""
    import cupy

    if isinstance(plane, np.ndarray):
        out.set(np.ascontiguousarray(plane, out.dtype))
        cupy.cuda.get_current_stream().synchronize()  # it may be page-locked: then `set` goes on
    else:
        out[...] = plane


def loaded(work: Callable[[], None]) -> Callable[[], None]:
    """Run work once, which compiles and loads its kernels, and return it."""
    work()
    return work


def recorded(work: Callable[[], None]) -> Callable[[], None]:
    """Return work as one graph, launched on CuPy's current stream; as it is where that fails."""
    import cupy

    loaded(work)  # kernels cannot be loaded while they are recorded
    stream = cupy.cuda.get_current_stream()
    try:
        stream.begin_capture()
        try:
            work()
        finally:
            graph = stream.end_capture()
        graph.upload(stream=stream)
    except RuntimeError:  # CUDA's and ours; kernels launched one by one do as well
        return work
    return lambda: graph.launch(stream=cupy.cuda.get_current_stream())
