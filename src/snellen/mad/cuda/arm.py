"""The GPU arm: lightness → csf → masking × error; log-Gabor → statistics; combine.

Both halves of a comparison take the same way, one plane at a time: what the reference gives is
kept, what the distorted picture gives is compared with it. Only three numbers come back, and maps
where they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from snellen import device as devices
from snellen.fft.plan import Plan, planes
from snellen.frame import Format
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.csf import Csf
from snellen.mad.cuda.lightness import Lightness
from snellen.mad.cuda.loggabor import BANDS, Bank
from snellen.mad.cuda.masking import Masking
from snellen.mad.cuda.statistics import Statistics
from snellen.mad.definition import Definition, grid
from snellen.mad.result import Score

SCRATCH = 1400 << 20  # bytes of the subbands that are under way at once: all 20 at 4K


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
    graphs : bool
        Whether each half's kernels are recorded once and launched as one, where that works.

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
        *,
        graphs: bool = True,
    ):
        import cupy

        self.device = device
        shape = height, width = format.height, format.width
        with self._on_gpu(), cupy.cuda.Stream(non_blocking=True) as own:
            self._samples = cupy.zeros((2, *shape), format.dtype)
            self._planes = planes(2, *shape)
            self._spectra = cupy.empty((2, height, width // 2 + 1), cupy.complex64)
            self._levels = cupy.zeros((2, 2), cupy.float32)
            self._out = cupy.zeros(3, cupy.float64)
            self._lightness = Lightness(definition, format, peak)
            self._forward = Plan("r2c", height, width, 2)
            self._detection = Detection(height, width)
            self._appearance = Appearance(height, width)
            self._combine = Combine(definition, format, peak)
            self._halves = [self._reference, self._distorted]
            for half in self._halves:
                half()  # compiles and loads the kernels, which a graph cannot
            if graphs:
                self._halves = [recorded(half) for half in self._halves]
            own.synchronize()

    def hold(self, reference: Any) -> None:
        """Compute the reference's half and keep it until the next.

        Parameters
        ----------
        reference : (H, W) array
            NumPy, or CuPy on this GPU. Work is ordered on CuPy's current stream.
        """
        with self._on_gpu():
            self._stage(reference, 0)
            self._halves[0]()

    def against(self, distorted: Any, maps: bool = False) -> Score:
        """Compare with the reference held.

        Returns
        -------
        Score
            With new maps, where asked for: NumPy's for a NumPy plane, else CuPy's.
        """
        with self._on_gpu():
            self._stage(distorted, 1)
            self._halves[1]()
            numbers = [float(number) for number in self._out.get()]
            if not maps:
                return Score(*numbers)
            both = self._maps()
            return Score(
                *numbers, *(m.get() if isinstance(distorted, np.ndarray) else m for m in both)
            )

    def close(self) -> None:
        """Give the memory back."""
        import cupy

        with self._on_gpu():
            cupy.cuda.Device().synchronize()
            del self._halves, self._samples, self._planes, self._spectra, self._forward
            del self._detection, self._appearance, self._combine
            cupy.get_default_memory_pool().free_all_blocks()

    def _reference(self) -> None:
        """All of the reference's half, from the samples that are staged."""
        (grey, light), spectra = self._planes, self._spectra
        self._lightness.reference(self._samples[0], self._levels[0], grey, light)
        self._forward(self._planes, spectra)
        self._detection.hold(spectra[1], self._levels[0], light)
        self._appearance.hold(spectra[0])

    def _distorted(self) -> None:
        """All of the distorted picture's half, to the score."""
        (reference, distorted), (grey, error) = self._samples, self._planes
        self._lightness.distorted(distorted, reference, self._levels[1], grey, error)
        self._forward(self._planes, spectra := self._spectra)
        mask = self._detection.against(spectra[1], error)
        self._combine.seen(reference, distorted, mask, None)
        self._combine.looks(self._appearance.against(spectra[0]))
        self._combine.score(self._out)

    def _maps(self) -> tuple[Any, Any]:
        """Return the detection and the appearance map of what was compared last."""
        import cupy

        shape = self._samples.shape[1:]
        detection, appearance = (cupy.empty(shape, cupy.float32) for _ in range(2))
        reference, distorted = self._samples
        self._combine.seen(reference, distorted, self._detection.mask, detection)
        self._combine.spread(self._appearance.total, appearance)
        return detection, appearance

    def _stage(self, plane: Any, which: int) -> None:
        if isinstance(plane, np.ndarray):
            self._samples[which].set(np.ascontiguousarray(plane, self._samples.dtype))
        else:
            self._samples[which] = plane

    @contextmanager
    def _on_gpu(self) -> Iterator[None]:
        with devices.using(self.device), devices.reporting():
            yield


class Detection:
    """The stage for what is just seen, up to its mask; keeps the reference's statistics."""

    def __init__(self, height: int, width: int):
        import cupy

        self._csf, self._masking = Csf(height, width), Masking(height, width)
        self._back = Plan("c2r", height, width, 1)
        self._kept = cupy.empty((2, *grid(height, width)), cupy.float32)
        self.mask = cupy.empty(grid(height, width), cupy.float32)

    def hold(self, spectrum: Any, level: Any, light: Any) -> None:
        """Keep the reference's statistics.

        Parameters
        ----------
        spectrum : (H, W/2 + 1) complex64
            Of its lightness above a level; destroyed.
        level : (2,) float32
            As `Lightness` gives it.
        light : (H, W) float32
            Scratch.
        """
        self._filter(spectrum, light)
        self._masking.describe(light, level, self._kept[0], self._kept[1])

    def against(self, spectrum: Any, error: Any) -> Any:
        """Return the mask (rows, columns), for an error of lightness given likewise."""
        self._filter(spectrum, error)
        self._masking.visibility(error, self._kept[0], self._kept[1], self.mask)
        return self.mask

    def _filter(self, spectrum: Any, out: Any) -> None:
        self._csf(spectrum)
        self._back(spectrum, out)


class Appearance:
    """The stage for how different it looks, for some of the subbands; keeps the reference's.

    Parameters
    ----------
    height, width : int
    bands : range
        Numbers of the filters.

    Attributes
    ----------
    total : (rows, columns) float32
        The map of what was compared last, once it is summed up.
    """

    def __init__(self, height: int, width: int, bands: range = range(BANDS)):
        import cupy

        fit = max(1, SCRATCH // (8 * height * width))
        parts = -(-len(bands) // fit)
        edges = [bands.start + len(bands) * i // parts for i in range(parts + 1)]
        self._parts = [range(a, b) for a, b in pairwise(edges)]
        sizes = {len(part) for part in self._parts}
        self._bank = Bank(height, width)
        self._inverse = {size: Plan("inverse", height, width, size) for size in sizes}
        self._statistics = {size: Statistics(height, width, size) for size in sizes}
        self._first = bands.start
        self._scratch = cupy.empty((max(sizes), height, width), cupy.complex64)
        self._kept = cupy.empty((len(bands), 3, *grid(height, width)), cupy.float32)
        self._apart = cupy.empty((len(bands), *grid(height, width)), cupy.float32)
        self.total = self._apart[0]

    def hold(self, spectrum: Any) -> None:
        """Keep the statistics of the reference's subbands, from its half spectrum."""
        for part, bands in self._responses(spectrum):
            self._statistics[len(bands)].describe(bands, self._kept[part])

    def against(self, spectrum: Any) -> Any:
        """Return how each subband's statistics differ, (bands, rows, columns)."""
        for part, bands in self._responses(spectrum):
            first = part.start + self._first
            self._statistics[len(bands)].compare(bands, self._kept[part], first, self._apart[part])
        return self._apart

    def _responses(self, spectrum: Any) -> Iterator[tuple[slice, Any]]:
        """Yield some of the subbands at a time, and which of ours they are."""
        for part in self._parts:
            bands = self._scratch[: len(part)]
            self._bank(spectrum, part.start, bands)
            self._inverse[len(part)](bands, bands)
            yield slice(part.start - self._first, part.stop - self._first), bands


def recorded(work: Callable[[], None]) -> Callable[[], None]:
    """Return work as one graph, launched on CuPy's current stream; as it is where that fails."""
    import cupy

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
