"""Frames → period, and back: what is before and after the iterations, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.mia import edges, psf, samples

Array = npt.NDArray[Any]


class Frames:
    """Frames of one shape on one period.

    Parameters
    ----------
    shape, period : (rows, columns)
        Of a frame; of what it lies on.
    side : int
        Of the PSF's support, odd.
    rule : str
        Of the edges.
    dtype : str
        "float32" or "float64".
    """

    def __init__(
        self, shape: tuple[int, int], period: tuple[int, int], side: int, rule: str, dtype: str
    ):
        self._shape, self._period, self._side = shape, period, side
        self._rule, self._dtype = rule, dtype

    def place(self, frames: Array, peak: float) -> tuple[Array, Array]:
        """Return y and what f starts as.

        Parameters
        ----------
        frames : (B, M, rows, columns) of a type in `frames.axes.DTYPES`
        peak : float
            The sample value of white.

        Returns
        -------
        y : (B, M, H, W)
        f : (B, H, W)

        Raises
        ------
        InputError
            Samples that no picture has.
        """
        samples.refuse(samples.wrong(frames, peak), peak)
        scaled = samples.scaled(frames, peak, self._dtype)
        return edges.place(scaled, self._period, self._side, self._rule)

    def spread(self, blur: Array) -> Array:
        """Return PSFs (…, K, K) on the period."""
        return np.asarray(psf.to_period(blur.astype(self._dtype), self._period))

    def finish(self, f: Array, h: Array, recentre: bool) -> tuple[Array, Array]:
        """Return pictures and PSFs, moved where that is asked for, so that these are centred.

        Parameters
        ----------
        f : (B, H, W)
        h : (B, M, H, W)
        recentre : bool

        Returns
        -------
        pictures : (B, rows, columns)
            White is 1.
        psfs : (B, M, K, K)
        """
        if recentre:
            both = [psf.recentre(*pair, self._side) for pair in zip(f, h, strict=True)]
            f, h = (np.stack(planes) for planes in zip(*both, strict=True))
        return edges.cut(f, self._shape), psf.from_period(h, self._side)

    def refuse(self, peak: float) -> None:
        """Do nothing: what is wrong with samples has been told when they came."""
