"""Conversion of frames to planes on a period before the iterations, and back after them (CPU)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.mia import centre, edges, psf, samples

Array = npt.NDArray[Any]


class Frames:
    """Conversion of frames of one shape to and from one period, by a rule of `edges`."""

    def __init__(
        self, shape: tuple[int, int], period: tuple[int, int], side: int, rule: str, dtype: str
    ):
        self._shape, self._period, self._side = shape, period, side
        self._rule, self._dtype = rule, dtype

    def place(self, frames: Array, peak: float) -> tuple[Array, Array]:
        """Return the observed planes y (B, M, H, W) and the first estimate f (B, H, W).

        `frames` (B, M, rows, columns) are of a dtype in `frames.axes.DTYPES`; `peak` is the sample
        value of white. InputError: samples are NaN, infinite or otherwise invalid, see
        `samples.refuse`.
        """
        samples.refuse(samples.wrong(frames, peak), peak)
        scaled = samples.scaled(frames, peak, self._dtype)
        return edges.place(scaled, self._period, self._side, self._rule)

    def spread(self, blur: Array) -> Array:
        """Return PSFs (…, K, K) on the period."""
        return np.asarray(psf.to_period(blur.astype(self._dtype), self._period))

    def finish(
        self, f: Array, h: Array, recentre: centre.Recentre, *, whole: np.dtype[Any] | None = None,
        peak: float = 1.0,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return pictures (B, rows, columns) and PSFs (B, M, K, K) of f (B, H, W), h (B, M, H, W).

        With `recentre` PSFs are centred, and pictures move by the opposite; "whole": by whole
        pixels. Pictures are rounded and clipped to `whole`, unsigned integers whose white is
        `peak`, or stay floats (None), whose white is 1.
        """
        if recentre:
            whole_pixels = recentre == centre.WHOLE
            both = [
                centre.recentre(*pair, self._side, whole_pixels) for pair in zip(f, h, strict=True)
            ]
            f, h = (np.stack(planes) for planes in zip(*both, strict=True))
        pictures = edges.cut(f, self._shape)
        if whole is not None:
            pictures = samples.finished(pictures, peak, whole)
        return pictures, psf.from_period(h, self._side)

    def refuse(self, peak: float) -> None:
        """Do nothing: `place` has already refused invalid samples."""
