"""The pictures that a prepared Deblurrer takes, and the results that it makes of them.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames import arrays, white
from snellen.frames.axes import check_dtype
from snellen.frames.frame import Format
from snellen.frames.placement import taken
from snellen.gpu import memory
from snellen.mia import edges, samples
from snellen.mia import psf as psfs
from snellen.mia.progress import Callback
from snellen.mia.result import Restored, Step


class Pictures:
    """Batches of B pictures of M frames each, of one format.

    `bits` is the depth of the results (None: the type of the pictures), `counts` are B and M:
    arrays have no axis where the number is 1. `side` is K, of the PSFs. Pictures may be on
    `device`, "cpu" or "cuda:N", beside main memory.

    Attributes
    ----------
    shape : (rows, columns)
    whole : (B, M, rows, columns)
    target : Format
        Of the results.
    """

    def __init__(
        self, format: Format, bits: int | None, counts: tuple[int, int], side: int, device: str
    ):
        self._format, self._converted = format, bits is not None
        self.target = format if bits is None else format.scaled(1, bits)
        self.shape = format.height, format.width
        self.whole = *counts, *self.shape
        self._batch, self._side, self._device = counts[0], side, device
        self._lead = tuple(count for count in counts if count > 1)

    def blank(self, dtype: npt.DTypeLike = np.float32) -> Any:
        """Return a batch for a first run: black but for a white dot, as one value is no work."""
        batch = np.zeros((*self._lead, *self.shape), dtype)
        white = self.white(batch.dtype)
        if batch.dtype.kind == "u":
            white = min(white, float(np.iinfo(batch.dtype).max))  # a Format may have a greater one
        batch[..., 0, 0] = white
        return batch

    def check(self, image: Any) -> Any:
        """Return an array; refuse (InputError) another shape or type, or another device."""
        advice = "use snellen.deblur for arrays of other libraries"
        image = taken(image, self._device, "picture", "Deblurrer", advice=advice)
        if image.shape != (*self._lead, *self.shape):
            raise InputError(
                f"got an array {image.shape}; prepared for {(*self._lead, *self.shape)}",
                advice="prepare again, or use snellen.deblur for colour",
            )
        check_dtype(image.dtype)
        return image

    def white(self, dtype: np.dtype[Any]) -> float:
        """Return the sample value of white of pictures of a type."""
        return _white(self._format, dtype)

    def result(self, dtype: np.dtype[Any]) -> tuple[np.dtype[Any], float]:
        """Return the type of the results of pictures of a type, and its value of white."""
        if self._converted:
            dtype = self.target.dtype
            return dtype, _white(self.target, dtype)
        return dtype, self.white(dtype)

    def finished(
        self, frames: Any, flat: npt.NDArray[np.bool_], start: Any,
        estimates: tuple[Any, Any, Any], iterations: int, history: tuple[Step, ...] = (),
    ) -> Restored:  # fmt: skip
        """Return the result of a batch.

        `frames` (B, M, rows, columns) are as they were given, or only the first sample of each
        picture. Pictures that are `flat` (B,) have one value only, which says nothing of their
        blur: they are returned unchanged, with the PSF that they started from and a fit of 0.
        `start` (B, M, H, W) are those PSFs, on the period. The estimates are pictures (B, rows,
        columns), integers as they are to be, floats with a white of 1; their PSFs (B, M, K, K); and
        the data fidelity (B,) float64, which is written to.
        """
        sharp, blurs, fit = estimates
        peak, (dtype, white) = self.white(frames.dtype), self.result(frames.dtype)
        blurs = blurs.astype(np.float32)
        # In flight they are floats, and their buffers are those of the next picture.
        is_whole = sharp.dtype.kind == "u"
        sharp = sharp.astype(dtype) if is_whole else samples.finished(sharp, white, dtype)
        for i in np.flatnonzero(flat).tolist():
            begun = psfs.from_period(start[i], self._side)
            blurs[i] = begun if isinstance(begun, type(blurs)) else arrays.host(begun)
            value: Any = frames[i, 0, 0, 0]
            if self._converted:
                real = np.full((1, 1), float(value) / peak)
                value = samples.finished(real, white, dtype)[0, 0]
            sharp[i], fit[i] = value, 0
        sharp, blurs = self._without_single_axes(sharp, blurs)
        return Restored(
            sharp, blurs, fit[0].item() if self._batch == 1 else fit, iterations, history
        )

    def cutting(self, callback: Callback) -> Callback:
        """Return a callback for arrays on the period; it calls `callback` with copies cut out."""

        def cut(iteration: int, f: Any, h: Any) -> None:
            with nullcontext() if self._device == "cpu" else memory.callers():
                both = edges.cut(f, self.shape).copy(), psfs.from_period(h, self._side)
                callback(iteration, *self._without_single_axes(*both))

        return cut

    def _without_single_axes(self, sharp: Any, blurs: Any) -> tuple[Any, Any]:
        """Return pictures and PSFs without axes of length 1."""
        lead = self._lead[:1] if self._batch > 1 else ()
        return (
            sharp.reshape(*lead, *sharp.shape[-2:]),
            blurs.reshape(*self._lead, *blurs.shape[-2:]),
        )


def _white(format: Format, dtype: np.dtype[Any]) -> float:
    """Return the sample value of white of pictures of a format and a type."""
    if format.white is not None:
        return format.white
    if format.bits and dtype == format.dtype:
        return float((1 << format.bits) - 1)
    return white.white(dtype, None)
