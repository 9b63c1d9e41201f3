"""Arrays at any magnification: those of models in a row, and a filter after them, as of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from snellen.frames import arrays
from snellen.frames.axes import Axes, check_dtype
from snellen.frames.channels import ChannelAxis, Channels
from snellen.frames.placement import choose_several
from snellen.gpu import memory
from snellen.upscaling.fit import fitted
from snellen.upscaling.sample_values import Values, values_of
from snellen.upscaling.target import Geometry, Target, geometry

Array = Any
"""An array of NumPy or CuPy."""

CHANNELS = (3, 4)  # RGB, RGBA


def enlarged_to(
    goal: Target,
    image: Any,
    enlarge: Callable[..., Any],
    scales: tuple[int, ...],
    device: str | Sequence[str],
    bits: int | None,
    data_range: float | None,
    channel_axis: ChannelAxis,
) -> Any:
    """Return an array at a magnification that no model has.

    Parameters
    ----------
    image, device, bits, data_range, channel_axis
        As of `snellen.upscale`. What a GPU enlarged is filtered in main memory.
    enlarge : callable
        Called with an array whose channels are last, a magnification, `data_range`, `channel_axis`
        and whether it is the first; returns the larger array.
    scales : tuple of int
        Magnifications that there are.

    Raises
    ------
    InputError
        The result would be too large, or as of `snellen.upscale`.
    """
    chosen = choose_several(image, device, "super-resolution")[0]
    home = "cpu" if arrays.place(image) == "cpu" else chosen
    with arrays.working(image, home):
        array = arrays.read(image)
        where = Channels.of(array.shape, channel_axis, CHANNELS)
        array = where.last(array)
        check_dtype(array.dtype)
        axes = Axes.of(array.shape, where.lengths)
        values = values_of(array, bits, data_range)
        height, width = axes.size
        found = geometry(goal, width, height, scales=scales)
        axis = -1 if axes.channels else None
        for number, scale in enumerate(found.scales):
            array = enlarge(array, scale, data_range, axis, not number)
            if not values.bits:
                data_range = values.white  # what goes beyond it now is ours
        if not found.plain:
            array = _at_size(array, axes, found, values)
        return arrays.like(image, where.back(array))


def _at_size(array: Array, axes: Axes, found: Geometry, values: Values) -> Array:
    """Return an enlarged array at the size of a geometry, of the same library."""
    height, width = axes.size
    large = replace(axes, size=(height * prod(found.scales), width * prod(found.scales)))
    final = replace(axes, size=(found.height, found.width))
    host = arrays.host(array)
    result = np.empty(final.shape, array.dtype)
    for picture, out in zip(large.pictures(host), final.pictures(result), strict=True):
        out[...] = fitted(picture.astype(picture.dtype.newbyteorder("="), copy=False), found)
    if values.bits:  # the filter clips to the type
        np.minimum(result, result.dtype.type(int(values.white)), out=result)
    if array is host:
        return result
    with memory.callers():
        return arrays.upload(result)
