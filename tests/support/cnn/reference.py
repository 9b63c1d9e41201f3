"""A compact network in float64, by its definition, one tap at a time."""

from __future__ import annotations

import numpy as np
from scipy.signal import correlate2d


def residual(codes, model):
    """Return what is added to the bicubic enlargement, in 8-bit codes: (s·H, s·W) float64."""
    reach = len(model.body_weight) + 2
    plane = np.pad(np.asarray(codes, np.float64), reach, mode="edge") / 128 - 1
    values = [plane]
    weights = [model.first_weight[:, None], *model.body_weight]
    biases = [model.first_bias, *model.body_bias]
    slopes = [model.first_slope, *model.body_slope]
    for weight, bias, slope in zip(weights, biases, slopes, strict=True):
        values = convolved(values, weight, bias)
        values = [np.where(v < 0, float(a) * v, v) for v, a in zip(values, slope, strict=True)]
    found = convolved(values, model.last_weight, model.last_bias)
    inset = reach - model.skip.shape[-1] // 2
    inner = plane[inset : plane.shape[0] - inset, inset : plane.shape[1] - inset]
    s = model.scale
    out = np.empty((s * codes.shape[0], s * codes.shape[1]))
    for phase, (one, taps) in enumerate(zip(found, model.skip, strict=True)):
        linear = correlate2d(inner, taps.astype(np.float64), "valid")
        out[phase // s :: s, phase % s :: s] = 128 * (one + linear)
    return out


def convolved(values, weight, bias):
    """Return (D, H − k + 1, W − k + 1): the sum over all taps, where all of them are inside."""
    values, weight = np.asarray(values), weight.astype(np.float64)
    rows, columns = (length - weight.shape[-1] + 1 for length in values.shape[1:])
    found = bias.astype(np.float64)[:, None, None]
    for i, j in np.ndindex(weight.shape[2:]):
        tap = values[:, i : i + rows, j : j + columns]
        found = found + np.tensordot(weight[:, :, i, j], tap, 1)
    return found


def model(random, scale, layers=2, channels=4, side=5):
    """Return a network of random weights whose values stay near 1."""
    from snellen.cnn.model import Model, shapes

    def drawn(name, shape):
        inputs = np.prod(shape[-3:]) if name in {"body_weight", "last_weight"} else 9
        wide = 0.3 if "bias" in name or "slope" in name else inputs**-0.5
        return random.normal(0, wide, shape).astype(np.float16)

    arrays = {name: drawn(name, s) for name, s in shapes(scale, layers, channels, side).items()}
    return Model(scale, **arrays, about={"made": "by chance"})


def gentle(random, scale, layers, channels, side=5):
    """Return a random network whose results are small beside the picture, as those of trained ones.

    Values of each convolution have about the variance of its input, and slopes are positive.
    """
    found = model(random, scale, layers, channels, side)
    arrays = {name: getattr(found, name) for name in found.__dataclass_fields__}
    for name, factor in (("last_weight", 0.05), ("last_bias", 0.02), ("skip", 0.05)):
        arrays[name] = (arrays[name] * factor).astype(np.float16)
    for name in ("first_slope", "body_slope"):
        arrays[name] = np.abs(arrays[name])
    return type(found)(**arrays)
