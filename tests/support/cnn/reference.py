"""A compact network in float64, by its definition, one channel at a time."""

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
    """Return each output channel of a correlation where all taps are inside."""
    found = []
    for row, one in zip(weight, bias, strict=True):
        taps = zip(values, row.astype(np.float64), strict=True)
        found.append(float(one) + sum(correlate2d(v, w, "valid") for v, w in taps))
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
