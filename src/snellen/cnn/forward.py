"""The network on one plane, by NumPy: each convolution is one matrix product a strip of rows.

Weights in half precision are exact in float32, so float32 differs from the definition only by the
rounding of its sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from snellen.cnn.definition import HALF, radius
from snellen.cnn.model import Model

Float32 = npt.NDArray[np.float32]

STRIP = 16  # rows of the small picture that are computed at once: their activations stay in a cache


def residual(codes: Float32, model: Model) -> Float32:
    """Return what the network adds to the bicubic enlargement.

    Parameters
    ----------
    codes : (H, W) float32
        Luma in 8-bit codes, 0 … 255, not necessarily whole.
    model : Model

    Returns
    -------
    (s·H, s·W) float32
        In 8-bit codes.
    """
    reach, s = radius(model.layers), model.scale
    height, width = codes.shape
    plane = np.pad(codes, reach, mode="edge") / np.float32(HALF) - np.float32(1)
    out = np.empty((height, s, width, s), np.float32)
    for top in range(0, height, STRIP):
        rows = min(STRIP, height - top)
        phases = _strip(plane[top : top + rows + 2 * reach], model)
        out[top : top + rows] = phases.reshape(s, s, rows, width).transpose(2, 0, 3, 1)
    return out.reshape(s * height, s * width) * np.float32(HALF)


def _strip(plane: Float32, model: Model) -> Float32:
    """Return r of the definition, (s², H − 2·reach, W − 2·reach), of a continued plane v."""
    values = plane[None]
    for weight, bias, slope in _convolutions(model):
        values = _convolved(values, weight)
        values += bias[:, None, None]
        # PReLU: of slopes up to 1 that is max(v, slope · v), but slopes may be any.
        values += (slope - 1)[:, None, None] * np.minimum(values, 0)
    found = _convolved(values, model.last_weight.astype(np.float32))
    found += model.last_bias.astype(np.float32)[:, None, None]
    inset = radius(model.layers) - model.skip.shape[-1] // 2
    inside = slice(inset, -inset or None)
    found += _convolved(plane[None, inside, inside], model.skip.astype(np.float32)[:, None])
    return found


def _convolutions(model: Model) -> Iterator[tuple[Float32, Float32, Float32]]:
    """Yield weight, bias and slope of each convolution with a PReLU, as float32."""
    first = (model.first_weight[:, None], model.first_bias, model.first_slope)
    body = zip(model.body_weight, model.body_bias, model.body_slope, strict=True)
    for weight, bias, slope in (first, *body):
        yield weight.astype(np.float32), bias.astype(np.float32), slope.astype(np.float32)


def _convolved(values: Float32, weight: Float32) -> Float32:
    """Return the correlation of (C, H, W) with (D, C, k, k) where all taps are inside."""
    count, _, side, _ = weight.shape
    windows = np.lib.stride_tricks.sliding_window_view(values, (side, side), (1, 2))
    _, rows, columns = windows.shape[:3]
    taps = windows.transpose(0, 3, 4, 1, 2).reshape(-1, rows * columns)
    found: Float32 = (weight.reshape(count, -1) @ taps).reshape(count, rows, columns)
    return found
