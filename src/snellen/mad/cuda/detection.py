"""Detection, the errors that are just visible: lightness → csf → masking × local error."""

from __future__ import annotations

from typing import Any

from snellen.fft.plan import Plan
from snellen.frames.frame import Format
from snellen.gpu.profile import stage
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.csf import Csf
from snellen.mad.cuda.lightness import Lightness
from snellen.mad.cuda.masking import Masking
from snellen.mad.cuda.precision import COMPLEX
from snellen.mad.definition import Definition, grid


class Detection:
    """Detection for planes of one format on the current GPU; keeps the reference's half.

    Parameters
    ----------
    definition, format, peak, dtype
        As for `backend.Backend`.
    combine : Combine
        Sums up the map.
    """

    def __init__(
        self, definition: Definition, format: Format, peak: float, dtype: str, combine: Combine
    ):
        import cupy

        height, width = format.height, format.width
        self._lightness, self._combine = Lightness(definition, format, peak, dtype), combine
        self._csf, self._masking = Csf(height, width, dtype), Masking(height, width, dtype)
        self._forward, self._back = (Plan(kind, height, width, dtype) for kind in ("r2c", "c2r"))
        self._plane = cupy.empty((height, width), dtype)
        self._spectrum = cupy.empty((height, width // 2 + 1), COMPLEX[dtype])
        self._level = cupy.zeros(2, dtype)
        self._mean, self._deviation, self._mask = cupy.empty((3, *grid(height, width)), dtype)

    def set_reference(self, reference: Any) -> None:
        """Keep the statistics of the reference's blocks; samples (H, W)."""
        with stage("lightness"):
            self._lightness.light(reference, self._level, self._plane)
        self._filter()
        with stage("block statistics"):
            self._masking.describe(self._plane, self._level, self._mean, self._deviation)

    def compare(self, reference: Any, distorted: Any) -> None:
        """Sum up the map of both planes of samples (H, W)."""
        with stage("lightness"):
            self._lightness.error(reference, distorted, self._plane)
        self._filter()
        with stage("visibility"):
            self._masking.visibility(self._plane, self._mean, self._deviation, self._mask)
        with stage("local error"):
            self._combine.detection(reference, distorted, self._mask, None)

    def map(self, reference: Any, distorted: Any, out: Any) -> None:
        """Fill the map (H, W) of the planes that were compared last."""
        self._combine.detection(reference, distorted, self._mask, out)

    def _filter(self) -> None:
        with stage("FFT of lightness"):
            self._forward(self._plane, self._spectrum)
        with stage("csf"):
            self._csf(self._spectrum)
        with stage("inverse FFT of lightness"):
            self._back(self._spectrum, self._plane)
