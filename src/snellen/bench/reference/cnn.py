"""A compact network in NumPy float64, tap by tap, on top of the bicubic that A+ is checked with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.bench.reference.aplus import bicubic
from snellen.cnn.definition import HALF, radius
from snellen.cnn.model import Model

Float64 = npt.NDArray[np.float64]


def upscale(low: Float64, model: Model) -> Float64:
    """Enlarge a plane (H, W) of 8-bit codes; the result is neither rounded nor clipped."""
    s, reach = model.scale, radius(model.layers)
    plane = np.pad(low, reach, mode="edge")[None] / HALF - 1
    values = _activated(
        _convolved(plane, model.first_weight[:, None]), model.first_bias, model.first_slope
    )
    for weight, bias, slope in zip(
        model.body_weight, model.body_bias, model.body_slope, strict=True
    ):
        values = _activated(_convolved(values, weight), bias, slope)
    inset = reach - model.skip.shape[-1] // 2
    inner = plane[:, inset : plane.shape[1] - inset, inset : plane.shape[2] - inset]
    found = _convolved(values, model.last_weight) + _convolved(inner, model.skip[:, None])
    found += model.last_bias.astype(np.float64)[:, None, None]
    cells = found.reshape(s, s, *low.shape).transpose(2, 0, 3, 1)
    return bicubic(low, s) + HALF * cells.reshape(s * low.shape[0], s * low.shape[1])


def _convolved(values: Float64, weight: npt.NDArray[np.float16]) -> Float64:
    """Return the correlation of (C, H, W) with (D, C, k, k) where all taps are inside."""
    rows, columns = (length - weight.shape[-1] + 1 for length in values.shape[1:])
    found = np.zeros((len(weight), rows, columns))
    for i, j in np.ndindex(weight.shape[2:]):
        tap = values[:, i : i + rows, j : j + columns]
        found += np.tensordot(weight[:, :, i, j].astype(np.float64), tap, 1)
    return found


def _activated(
    values: Float64, bias: npt.NDArray[np.float16], slope: npt.NDArray[np.float16]
) -> Float64:
    """Return PReLU of values with a bias; both of each channel."""
    values = values + bias.astype(np.float64)[:, None, None]
    return np.where(values < 0, slope.astype(np.float64)[:, None, None] * values, values)
