"""Appearance: grey → log-Gabor subbands → block statistics → their difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from snellen.engine.several import evenly
from snellen.fft.plan import Plan
from snellen.frames.frame import Format
from snellen.gpu import profile
from snellen.gpu.profile import stage
from snellen.mad.cuda.lightness import Lightness
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.cuda.precision import COMPLEX
from snellen.mad.cuda.responses import Responses
from snellen.mad.cuda.statistics import Statistics
from snellen.mad.cuda.subbands import Subbands, suits
from snellen.mad.definition import Definition, grid

SCRATCH = 1400 << 20  # bytes of the subbands that are under way at once: all 20 at 4K
SHARE = {"float32": 1, "float64": 5}
"""Divisor of SCRATCH for each precision: large pictures are computed in float64 rarely."""
OWN_SHARE = 2  # the same for transforms of our own, which fill a GPU with half as many
ALL = range(BANDS)


class Appearance:
    """Appearance for planes of one format on the current GPU; keeps the reference's half.

    Parameters
    ----------
    definition, format, peak, dtype
        As for `backend.Backend`.
    bands : range
        Numbers of the filters that this GPU computes.
    guests : int
        Number of planes of differences that come from other GPUs.

    Attributes
    ----------
    differences : (bands + guests, rows, columns) of `dtype`
        Weighted differences of each subband's statistics; filled by `compare`.
    """

    def __init__(
        self, definition: Definition, format: Format, peak: float, dtype: str, bands: range = ALL,
        guests: int = 0,
    ):  # fmt: skip
        import cupy

        height, width = format.height, format.width
        pairs = np.dtype(COMPLEX[dtype])
        self._first = bands.start
        tiles = dtype == "float32" and suits(height, width)
        share = OWN_SHARE if tiles else SHARE[dtype]
        self._parts = list(parts(bands, pairs.itemsize * height * width, share))
        sizes = {len(part) for part in self._parts}
        self._lightness = Lightness(definition, format, peak, dtype)
        self._statistics = {size: Statistics(height, width, dtype, size, tiles) for size in sizes}
        self._responses: Subbands | Responses
        if tiles:
            self._responses = Subbands(height, width, max(sizes))
        else:
            self._responses = Responses(height, width, dtype, sizes)
        self._forward = Plan("r2c", height, width, dtype)
        self._ahead = cupy.cuda.Stream(non_blocking=True)
        self._plane = cupy.empty((height, width), dtype)
        pictures = 2 if dtype == "float32" else 1  # float64 is there for few pairs
        self._spectra = cupy.empty((pictures, height, width // 2 + 1), pairs)
        self._level = cupy.zeros(2, dtype)
        self._kept = cupy.empty((len(bands), 3, *grid(height, width)), dtype)
        self.differences = cupy.empty((len(bands) + guests, *grid(height, width)), dtype)

    def set_reference(self, reference: Any) -> None:
        """Keep the statistics of the reference's subbands; samples (H, W)."""
        self._transform(reference, self._spectra[0])
        self._describe(self._spectra[0])

    def compare(self, distorted: Any) -> None:
        """Fill `differences` from the distorted picture's subbands; samples (H, W)."""
        self._transform(distorted, self._spectra[0])
        self._compare(self._spectra[0])

    def pair(self, reference: Any, distorted: Any) -> None:
        """Do both; in float32 one picture is transformed while the other's subbands are computed.

        While stages are timed, one follows the other.
        """
        import cupy

        if len(self._spectra) == 1 or profile.active():
            self.set_reference(reference)
            return self.compare(distorted)
        stream = cupy.cuda.get_current_stream()
        self._transform(reference, self._spectra[0])
        self._ahead.wait_event(stream.record())  # grey, and the plan's own memory, are free again
        with self._ahead:
            self._transform(distorted, self._spectra[1])
        self._describe(self._spectra[0])
        stream.wait_event(self._ahead.record())
        self._compare(self._spectra[1])

    def respond(self, samples: Any) -> Any:
        """Compute the responses to a picture, samples (H, W); all subbands are one part.

        Returns
        -------
        array
            For `settle`; the next picture overwrites it.
        """
        self._transform(samples, self._spectra[0])
        (part,) = self._parts
        return self._responses(self._spectra[0], part)

    def settle(self, bands: Any) -> None:
        """Fill `differences` from responses to the distorted picture: `compare` without them."""
        with stage("difference"):
            compare = self._statistics[len(bands)].compare
            compare(bands, self._kept, self._first, self.differences[: len(bands)])

    def _transform(self, samples: Any, spectrum: Any) -> None:
        with stage("grey"):
            self._lightness.grey(samples, self._level, self._plane)
        with stage("FFT"):
            self._forward(self._plane, spectrum)

    def _describe(self, spectrum: Any) -> None:
        for mine, part in self._places():
            bands = self._responses(spectrum, part)
            with stage("statistics"):
                self._statistics[len(part)].describe(bands, self._kept[mine])

    def _compare(self, spectrum: Any) -> None:
        for mine, part in self._places():
            bands = self._responses(spectrum, part)
            compare = self._statistics[len(part)].compare
            with stage("difference"):
                compare(bands, self._kept[mine], part.start, self.differences[mine])

    def _places(self) -> Iterator[tuple[slice, range]]:
        """Yield the subbands that are computed at a time, after which of ours they are."""
        for part in self._parts:
            yield slice(part.start - self._first, part.stop - self._first), part


def fits_twice(bands: range, height: int, width: int, dtype: str) -> bool:
    """Return whether the subbands of two pictures may be under way at once, each as one part."""
    size = np.dtype(COMPLEX[dtype]).itemsize * height * width
    return dtype == "float32" and 2 * len(bands) * size <= SCRATCH


def parts(bands: range, size: int, share: int = 1) -> Iterator[range]:
    """Yield parts of `bands`, as alike as can be, within SCRATCH / `share` where one has `size`."""
    count = -(-len(bands) // max(1, SCRATCH // share // size))
    return (bands[part.start : part.stop] for part in evenly(len(bands), count))
