"""The CPU backend of MAD.

Detection: lightness → csf → masking × error. Appearance: log-Gabor → statistics → difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu import transforms as fft
from snellen.cpu.pool import Pool
from snellen.frames.frame import Format, Plane
from snellen.gpu.profile import stage
from snellen.mad import combine, loggabor, masking
from snellen.mad.csf import csf
from snellen.mad.definition import SMALLEST, WHITE, Definition, grid
from snellen.mad.error import local_mse
from snellen.mad.lightness import lightness, table
from snellen.mad.result import PendingScore, Score
from snellen.mad.statistics import difference, statistics

FINE = 3  # scales whose subbands are float32 where that is asked for: see Appearance
SCRATCH = 512 << 20  # bytes of the subbands that are under way at once
STRIP = 1 << 16
"""Pixels of filters that a thread computes at a time: temporaries stay in the caches."""

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class Backend:
    """MAD for planes of one format on the CPU; float planes may be float32 or float64.

    `peak` is the sample value of white. `dtype`, "float64" or "float32", is the precision of the
    filters, of most inverse transforms, which take most of the time, and of maps. Everything else
    is float64: it takes little time, and scores would lose digits.
    """

    slots = 1
    reference: Any = None

    def __init__(self, definition: Definition, format: Format, peak: float, dtype: str):
        self.dtype = dtype
        if (format.height, format.width) != (SMALLEST, SMALLEST):
            _compile(dtype)
        self._definition, self._dtype = definition, dtype
        self._pool = Pool(threads.available())
        self._detection = Detection(definition, format, peak, self._pool)
        self._appearance = Appearance(format, peak, dtype, self._pool)

    def set_reference(self, reference: Plane) -> None:
        """Compute the reference's half and keep it until the next."""
        reference = np.ascontiguousarray(reference)
        self._detection.set_reference(reference)
        self._appearance.set_reference(reference)

    def compare(self, distorted: Plane, maps: bool = False) -> Score:
        """Compare with the reference that is set. Maps are new arrays."""
        distorted = np.ascontiguousarray(distorted)
        planes = self._detection.compare(distorted), self._appearance.compare(distorted)
        with stage("score"):
            hi = self._definition.hi_scale * combine.rms(planes[0])
            lo = combine.rms(planes[1])
            mad = combine.mad(hi, lo)
        if not maps:
            return Score(mad, hi, lo)
        detection, appearance = (plane.astype(self._dtype, copy=False) for plane in planes)
        return Score(mad, hi, lo, detection, appearance)

    def submit(
        self, reference: Plane | None, distorted: Plane, maps: bool = False,
        in_flight: bool = False, to_host: bool = False,
    ) -> PendingScore:  # fmt: skip
        """Compare at once; with the reference that is set where `reference` is None."""
        if reference is not None:
            self.set_reference(reference)
        score = self.compare(distorted, maps)
        return lambda: (score, False)

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(cancel_futures=True)


class Detection:
    """Detection of errors that are just visible: visibility × local error. In float64."""

    def __init__(self, definition: Definition, format: Format, peak: float, pool: Pool):
        self._definition, self._factor, self._pool = definition, WHITE / peak, pool
        self._shape = (format.height, format.width)
        self._table = table(format.bits, peak, definition) if format.bits else None
        self._csf = csf(*self._shape)

    def set_reference(self, reference: Plane) -> None:
        """Keep the reference, its lightness, and mean and modified deviation of its blocks."""
        self._reference = reference.copy()
        self._light = self._lightness(reference)
        filtered = self._filtered(self._light)
        with stage("block statistics"):
            mean, squares = self._tiles(filtered)
            self._mean, ignored, deviation, self._masking = self._grids(4)
            masking.blocks(mean, squares, masking.TILES, self._mean, ignored)
            masking.blocks(mean, squares, masking.WINDOW, ignored, deviation)
            masking.least(deviation, *self._shape, self._masking)

    def compare(self, distorted: Plane) -> Float64:
        """Return the map, unscaled."""
        # The filter is linear, so the error's lightness goes through it by itself.
        filtered = self._filtered(self._lightness(distorted) - self._light)
        with stage("visibility"):
            mean, squares = self._tiles(filtered)
            ignored, error, visible = self._grids(3)
            masking.blocks(mean, squares, masking.TILES, ignored, error)
            masking.visibility(self._mean, self._masking, error, visible)
        with stage("local error"):
            out = self._local_mse(distorted)
            tiles = combine.tiles(out, *visible.shape)
            tiles *= visible[:, None, :, None]
        return out

    def _lightness(self, plane: Plane) -> Float64:
        with stage("lightness"):
            if self._table is None:
                return lightness(plane * np.float64(self._factor), self._definition)
            return np.asarray(np.take(self._table, np.asarray(plane, np.intp), mode="clip"))

    def _filtered(self, plane: Float64) -> Float64:
        workers = threads.available()
        with stage("FFT of lightness"):
            spectrum = fft.rfft2(plane, workers=workers)
        with stage("csf"):
            spectrum *= self._csf
        with stage("inverse FFT of lightness"):
            return np.asarray(fft.irfft2(spectrum, self._shape, workers=workers, overwrite_x=True))

    def _tiles(self, plane: Float64) -> Float64:
        rows, columns = grid(*self._shape)
        out = np.empty((2, rows + 3, columns + 3))
        masking.tiles(plane, *out)
        return out

    def _grids(self, count: int) -> Float64:
        return np.empty((count, *grid(*self._shape)))

    def _local_mse(self, distorted: Plane) -> Float64:
        error = np.subtract(distorted, self._reference, dtype=np.float64)
        error *= self._factor
        out = np.empty(self._shape)
        share = -(-len(out) // threads.available())
        each = strips(len(out), share)
        list(self._pool.map(lambda rows: local_mse(error, rows[0], rows[1], out), each))
        return out


class Appearance:
    """Appearance: how much the statistics of 20 log-Gabor subbands differ.

    In the coarse scales |response| hardly varies within a block, least of all in a small picture,
    where one frequency may be all that a filter passes. Inverse transforms in float32 would move
    skewness and kurtosis of what little is left, and LO by 1e-4; so these are float64 always. The
    spectrum in float32 would move LO by 1e-5.
    """

    def __init__(self, format: Format, peak: float, dtype: str, pool: Pool):
        self._factor, self._pool = WHITE / peak, pool
        self._shape = shape = (format.height, format.width)
        self._dtype = np.dtype(dtype)
        self._radial = np.empty((len(loggabor.WAVELENGTHS), *shape), dtype)
        self._angular = np.empty((loggabor.ORIENTATIONS, *shape), dtype)

        def fill(rows: tuple[int, int]) -> None:
            loggabor.bank(slice(*rows), self._radial, self._angular)

        list(pool.map(fill, strips(shape[0], max(1, STRIP // shape[1]))))
        bands = (len(self._radial), len(self._angular), 3, *grid(*shape))
        self._reference, self._distorted = np.empty(bands), np.empty(bands)
        # As many subbands at a time as there are threads, but in large pictures fewer.
        size = 2 * shape[0] * shape[1]
        at_once = max(1, min(threads.available(), SCRATCH // (8 * size)))
        self._workers = -(-threads.available() // at_once)
        self._free: SimpleQueue[Float64] = SimpleQueue()
        for _ in range(at_once):
            self._free.put(np.empty(size))

    def set_reference(self, reference: Plane) -> None:
        """Keep the statistics of the reference's subbands."""
        self._statistics(reference, self._reference)

    def compare(self, distorted: Plane) -> Float64:
        """Return the map."""
        self._statistics(distorted, self._distorted)
        with stage("difference"):
            total = np.empty(grid(*self._shape))
            difference(self._reference, self._distorted, total)
            out = np.empty(self._shape)
            combine.tiles(out, *total.shape)[...] = total[:, None, :, None]
        return out

    def _statistics(self, plane: Plane, out: Float64) -> None:
        """Fill `out` (5, 4, 3, rows, columns)."""
        spectrum = self._spectrum(plane)

        def band(scale: int, orientation: int) -> None:
            scratch = self._free.get()
            kind = self._dtype if scale < FINE else np.dtype(np.float64)
            parts = scratch.view(kind)[: spectrum.size].reshape(spectrum.shape)
            try:
                filters = self._radial[scale], self._angular[orientation]
                with stage("filters"):
                    loggabor.product(spectrum, *filters, parts)
                with stage("inverse FFTs"):
                    response = fft.ifft2(_complex(parts), workers=self._workers, overwrite_x=True)
                with stage("statistics"):
                    statistics(_parts(response), out[scale, orientation])
            finally:
                self._free.put(scratch)

        list(self._pool.map(band, *zip(*np.ndindex(out.shape[:2]), strict=True)))

    def _spectrum(self, plane: Plane) -> Array:
        """Return the spectrum of grey, (M, N, 2), without its mean."""
        # No filter sees the mean. Of a constant picture nothing at all is left, not even rounding,
        # which makes its statistics exactly 0.
        with stage("grey"):
            level = np.clip(plane.mean(dtype=np.float64), plane.min(), plane.max())
            grey = np.subtract(plane, level, dtype=np.float64)
            grey *= self._factor
        with stage("FFT"):
            return _parts(fft.fft2(grey, workers=threads.available()))


def strips(height: int, share: int) -> Iterator[tuple[int, int]]:
    """Yield first row and end of each strip of so many rows."""
    for first in range(0, height, share):
        yield first, min(first + share, height)


def _parts(plane: Array) -> Array:
    """View complex (M, N) as (M, N, 2)."""
    return plane.view(plane.real.dtype).reshape(*plane.shape, 2)


def _complex(parts: Array) -> Array:
    """View (M, N, 2) as complex (M, N)."""
    return parts.view(np.result_type(parts.dtype, np.complex64))[..., 0]


@cache
def _compile(dtype: str) -> None:
    """Compile every loop: compare a blank pair of the smallest size."""
    blank = np.zeros((SMALLEST, SMALLEST), np.uint8)
    backend = Backend(Definition(), Format(SMALLEST, SMALLEST), WHITE, dtype)
    backend.set_reference(blank)
    backend.compare(blank)
    backend.close()
