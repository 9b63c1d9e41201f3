"""The pictures of a call to planes of luma for a Scorer, wherever both are; what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import isfinite, prod
from typing import Any

import numpy as np

from snellen.engine.prepared import borrowed
from snellen.errors import InputError
from snellen.frames import arrays, white
from snellen.frames.axes import NOT_FINITE, REPLACE, Axes, check_dtype, check_finite
from snellen.frames.placement import moved
from snellen.frames.values import check_bytes
from snellen.mad.cuda.pictures import SLACK, Luma, Pictures
from snellen.mad.definition import SMALLEST
from snellen.mad.luma import luma

Array = Any
"""An array of NumPy or CuPy."""

PAIR = 1000  # bytes of a pair's numbers, until all are known


class Planes:
    """Planes for a Scorer on a device, its first, from pictures in main memory or on a GPU.

    `pictures` converts those in main memory (None: integers are taken as they are), `luma` those on
    a GPU, likewise; `peak` is the sample value of white.
    """

    def __init__(
        self, peak: float, device: str, pictures: Pictures | None = None, luma: Luma | None = None
    ):
        self._peak, self._device, self._pictures, self._luma = peak, device, pictures, luma
        if pictures:
            pictures.begin()
        if luma:
            import cupy

            self._odd = cupy.zeros(1, np.int32)

    def plane(self, picture: Array) -> Array:
        """Return the luma of a picture as the Scorer takes it: integers, or float64."""
        if self._device == "cpu":
            return plain(picture, self._peak, "cpu")
        if isinstance(picture, np.ndarray):
            if self._pictures:
                return self._pictures.plane(picture)
            return picture.astype(picture.dtype.newbyteorder("="), copy=False)
        import cupy

        picture = cupy.ascontiguousarray(moved(picture, self._device))
        if not self._luma:
            return picture
        plane = cupy.empty(picture.shape[:2], self._luma.plane)
        self._luma(picture, plane, self._odd)
        return plane

    def odd(self) -> bool:
        """Return whether a sample cannot be scored; the planes mean nothing then."""
        found = bool(self._pictures and self._pictures.odd())
        return found or bool(self._luma and self._odd.get()[0])


@contextmanager
def feeding(both: tuple[Array, Array], peak: float, device: str) -> Iterator[Planes]:
    """Give the Planes of a Scorer on `device` for pictures of two arrays of one type.

    For the CPU the samples of both are checked first. On a GPU a kernel converts them, and finds
    samples that are not finite or beyond the range, unless integers can be taken as they are.
    """
    axes, dtype = axes_of(both[0]), both[0].dtype.newbyteorder("=")
    host = [array for array in both if isinstance(array, np.ndarray)]
    grey = dtype.kind == "u" and not axes.channels
    if device == "cpu" or grey:  # comparing integers takes less than converting them
        check_samples(host, peak)
    if device == "cpu":
        yield Planes(peak, device)
        return
    shape, channels = (*axes.size, *axes.channels), 3 if axes.channels else 1
    luma = pictures = None
    with ExitStack() as stack:
        if host and not grey:
            key = Pictures, shape, dtype.name, peak
            pictures = stack.enter_context(
                borrowed(device, key, lambda: Pictures(shape, dtype, peak, device))
            )
            if len(host) == 2:  # nothing depends on the caller's stream
                stack.enter_context(pictures.stream)
        if len(host) < 2 and not (grey and peak >= np.iinfo(dtype).max):
            luma = Luma(dtype, channels, peak)
        yield Planes(peak, device, pictures, luma)


def plain(picture: Array, peak: float, device: str) -> Array:
    """Return the luma of a picture as a Scorer on the device takes it: integers, or float64."""
    if not isinstance(picture, np.ndarray):
        picture = moved(picture, device)
    xp = arrays.library(picture)
    plane = luma(picture) if picture.ndim == 3 else picture
    if plane.dtype.kind == "u":
        return xp.ascontiguousarray(plane, plane.dtype.newbyteorder("="))
    return plane.astype(xp.float64).clip(0, peak)


def axes_of(array: Array, least: int = SMALLEST) -> Axes:
    """Return the axes of an array: grey or RGB, large enough, as for the margin of MAD."""
    return Axes.of(array.shape, least=least)


def check(reference: Array, distorted: Array, data_range: float | None) -> float:
    """Refuse (InputError) what cannot be scored, by its samples, too; return the value of white."""
    peak = expect(reference, distorted, data_range)
    check_samples((reference, distorted), peak)
    return peak


def expect(
    reference: Array, distorted: Array, data_range: float | None, least: int = SMALLEST
) -> float:
    """Refuse (InputError) what cannot be scored, but for samples; return the value of white.

    `least` is that of a picture's sides.
    """
    for array in (reference, distorted):
        check_dtype(array.dtype)
    axes = axes_of(reference, least), axes_of(distorted, least)
    if reference.dtype.name != distorted.dtype.name:
        raise InputError(
            f"got a reference of {reference.dtype} and a distorted picture of {distorted.dtype}; "
            "expected one dtype",
            advice="bring both to one dtype and range",
        )
    _check_shapes(*axes)
    return white.white(distorted.dtype, data_range)


def _check_shapes(reference: Axes, distorted: Axes) -> None:
    one, other = ((*axes.size, *axes.channels) for axes in (reference, distorted))
    if one != other:
        raise InputError(
            f"got a reference of {one} and a distorted picture of {other}; expected equal shapes",
            advice="resize or convert one",
        )
    try:
        pairs = prod(np.broadcast_shapes(reference.batch, distorted.batch))
    except ValueError as error:
        raise InputError(
            f"got batch axes {reference.batch} of the reference and {distorted.batch} of the "
            "distorted pictures; expected equal axes, or such as NumPy broadcasts"
        ) from error
    check_bytes(PAIR * pairs, f"{pairs} pairs")


def check_samples(both: Any, peak: float) -> None:
    """Refuse (InputError) arrays with samples that are not finite, or beyond 0 … peak."""
    for array in both:
        _check_samples(array, peak)


def _check_samples(array: Array, peak: float) -> None:
    whole = array.dtype.kind == "u"
    if not array.size or (whole and peak >= np.iinfo(array.dtype).max):
        return
    if not isinstance(array, np.ndarray):
        check_finite(array)
    most = float(array.max())
    least = 0.0 if whole and most <= peak else float(array.min())
    check_extremes(least, most)
    check_range(least, most, peak, 0.0 if whole else SLACK * peak)


def check_extremes(least: float, most: float) -> None:
    """Refuse (InputError) a picture whose least or greatest sample is NaN or infinite."""
    if not isfinite(least) or not isfinite(most):
        raise InputError(NOT_FINITE, advice=REPLACE)


def check_range(least: float, most: float, peak: float, slack: float) -> None:
    """Refuse (InputError) a picture whose samples lie beyond 0 … peak by more than `slack`."""
    if least < -slack or most > peak + slack:
        raise white.beyond(least, most, peak)
