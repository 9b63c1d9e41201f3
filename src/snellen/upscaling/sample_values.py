"""The values that the samples of an array have: read, checked, and stored in a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.errors import InputError, quoted
from snellen.frames import white
from snellen.frames.axes import check_finite
from snellen.frames.quantise import quantise
from snellen.frames.values import whole
from snellen.upscaling.cuda.samples import LARGEST

Array = Any
"""An array of NumPy or CuPy."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values that the samples of an array have."""

    bits: int
    """Significant bits of integers; 0: floats."""
    white: float
    """The sample value of white."""
    largest: float = LARGEST
    """The greatest magnitude of floats that is taken."""


def store(samples: Array, bits: int, out: Array) -> None:
    """Round and clip to the depth, or to what the type of float can hold."""
    if samples.dtype.kind == "u":  # it has been done
        out[...] = samples
        return
    if bits == 0:
        limit = min(float(np.finfo(out.dtype).max), float(np.finfo(np.float32).max))
        out[...] = samples.clip(-limit, limit)
        return
    flat = samples.reshape(len(samples), -1)
    whole = np.empty(flat.shape, out.dtype.newbyteorder("="))
    quantise(flat, (1.0, 0.0), bits, whole)
    out[...] = whole.reshape(out.shape)


def check(array: Array, values: Values) -> None:
    """Refuse (InputError) samples that are not finite, too large, or of more bits."""
    if not array.size or values.bits == 8 * array.dtype.itemsize:
        return
    check_finite(array)
    least, most = float(array.min()), float(array.max())
    if values.bits:
        if most >= 1 << values.bits:
            raise white.beyond(least, most, values.white)
        return
    peak = max(most, -least)
    if peak > LARGEST:
        raise InputError(
            f"got a sample of ±{peak:g}; expected at most {LARGEST:g}, since super-resolution "
            "computes in float32",
            advice="scale the image first",
        )
    if peak > values.largest:
        raise white.beyond(least, most, values.white)


def values_of(array: Array, bits: int | None, data_range: float | None) -> Values:
    """Return the values that an array has; refuse (InputError) integers beyond the range."""
    dtype = array.dtype
    if bits is not None and data_range is not None:
        raise InputError(
            f"got `bits`={quoted(bits)} and `data_range`={quoted(data_range)}; expected one of "
            "them, since both say what white is",
            parameter="bits",
        )
    peak = white.white(dtype, data_range)
    if dtype.kind == "f":
        if bits is not None:
            raise InputError(
                f"`bits`={quoted(bits)} is for integer samples; got {dtype}",
                parameter="bits",
            )
        return Values(0, peak, white.BEYOND if data_range is None else LARGEST)
    all_bits = 8 * int(dtype.itemsize)
    if data_range is None:
        depth = all_bits if bits is None else whole("bits", bits, 8, all_bits)
        return Values(depth, float((1 << depth) - 1))
    depth = min(max(8, int(peak).bit_length()), all_bits)
    most = float((1 << depth) - 1)
    if peak < most and array.size and float(array.max()) > peak:
        raise white.beyond(float(array.min()), float(array.max()), peak)
    return Values(depth, min(peak, most))
