"""What compares in `snellen score`: a Scorer, and what is kept meanwhile for maps and ST-MAD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import DeviceError
from snellen.frames.frame import Format
from snellen.mad.heatmap import Worst
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

_LARGE = 2 << 30
"""Bytes of two clips from which on they are worth a word."""


class Judge:
    """A step of the road of two films.

    Parameters
    ----------
    settings : of `Scorer`, but for its device
    device : "cpu" or "cuda:N"
    replaceable : whether the CPU steps in where the GPU has no room
    worst : decides of which pictures maps are made; these scores come with maps
    temporal : whether all planes are kept, for ST-MAD
    warn : told what is odd
    """

    lanes = 1

    def __init__(
        self,
        settings: dict[str, Any],
        device: str,
        replaceable: bool,
        worst: Worst,
        temporal: bool,
        warn: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._replaceable = replaceable and device != "cpu"
        self._worst = worst
        self._warn = warn
        self._scorer = Scorer(device=device, **settings)
        self._range: float | None = None
        self.clips: Clips | None = Clips(warn) if temporal else None

    def prepare(self, format: Format, data_range: float | None = None) -> None:
        """Get ready; on the CPU where auto's GPU has no room."""
        self._range = data_range if data_range is not None else float((1 << format.bits) - 1)
        try:
            self._scorer.prepare(format, data_range)
        except DeviceError as error:
            if not self._replaceable:
                raise
            self._warn(f"the CPU is used: {error}")
            self._replaceable = False
            self._scorer = Scorer(device="cpu", **self._settings)
            self._scorer.prepare(format, data_range)

    def run(self, reference: npt.NDArray[Any], distorted: npt.NDArray[Any]) -> Score:
        """Return the score, with maps if it is among the worst so far."""
        score = self._scorer.run(reference, distorted)
        # Most pictures are not, so the half of those that are is computed twice.
        if self._worst.wants(float(score.mad)):
            score = self._scorer.compare(distorted, maps=True)
        if self.clips is not None:
            self.clips.add(reference, distorted)
        return score

    def close(self) -> None:
        """Give back what `prepare` took."""
        self._scorer.close()

    @property
    def device_name(self) -> str:
        """What the device calls itself."""
        return self._scorer.device_name

    @property
    def facts(self) -> dict[str, Any]:
        """Which MAD, and what computed it, ready for JSON."""
        settled = self._scorer.definition
        return {
            "variant": settled.variant, "hi_scale": settled.hi_scale,
            "eight_bit_lut": settled.eight_bit_lut, "device": self._scorer.device_name,
            "dtype": self._scorer.dtype,
        }  # fmt: skip

    def temporal(self, progress: Callable[[int, int], object]) -> Any:
        """Return ST-MAD of all planes that came."""
        from snellen.mad.temporal import st_mad

        assert self.clips is not None
        self._scorer.close()  # its buffers are free for the slices
        return st_mad(
            *self.clips.stacked(),
            data_range=self._range,
            device=self._scorer.device,
            dtype=self._settings["dtype"],
            progress=progress,
        )


class Clips:
    """Both films in memory: ST-MAD's slices run through all of time."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._planes: tuple[list[Any], list[Any]] = ([], [])
        self._warn = warn
        self._bytes = 0

    def add(self, reference: npt.NDArray[Any], distorted: npt.NDArray[Any]) -> None:
        """Keep a copy of both planes; say so when that is much."""
        for planes, plane in zip(self._planes, (reference, distorted), strict=True):
            planes.append(plane.astype(np.float32 if plane.dtype.kind == "f" else plane.dtype))
        grown = int(self._planes[0][-1].nbytes + self._planes[1][-1].nbytes)
        if self._bytes < _LARGE <= self._bytes + grown:
            self._warn(
                f"ST-MAD keeps both films in memory: {len(self._planes[0])} frames are "
                f"{_LARGE / 1e9:.1f} GB, and {1000 * grown / 1e9:.1f} GB come with every 1000 more "
                "(--frames and --duration take a part)"
            )
        self._bytes += grown

    def stacked(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return both clips (T, M, N), and keep nothing."""
        one, other = (self._stack(planes) for planes in self._planes)
        return one, other

    @staticmethod
    def _stack(planes: list[Any]) -> npt.NDArray[Any]:
        clip = np.empty((len(planes), *planes[0].shape), planes[0].dtype)
        for number in range(len(planes)):
            clip[number], planes[number] = planes[number], None
        return clip
