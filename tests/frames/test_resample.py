"""Scaling by any factor, against the definition in float64, and where samples lie."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.bicubic import bicubic
from snellen.frames.resample import axis, resample


def keys(x):
    """Keys' cubic convolution, a = −0.5, from the paper."""
    x = abs(x)
    if x < 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def line(samples, count, begin, step, phase):
    """One axis by the definition: the kernel is as wide as the step where samples become fewer."""
    wide, out = max(1.0, step), []
    for i in range(count):
        position = begin + (i + phase) * step - phase
        near = range(int(np.floor(position - 2 * wide)), int(np.ceil(position + 2 * wide)) + 1)
        weights = [keys((position - n) / wide) for n in near]
        taps = [samples[min(max(n, 0), len(samples) - 1)] for n in near]
        out.append(np.dot(weights, taps) / sum(weights))
    return np.array(out)


@pytest.mark.parametrize(
    ("begin", "step", "phase"),
    [(0, 1.5, 0.5), (0, 1.0, 0.5), (0, 3.7, 0.5), (0, 0.98, 0.5), (4.25, 1.3, 0.25), (-3, 2, 0.75)],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_the_definition(begin, step, phase, dtype):
    rng = np.random.default_rng(3)
    plane = rng.integers(0, 256, (23, 31)).astype(dtype)
    down, across = axis(14, begin, step, phase), axis(17, begin, step, phase)
    out = np.empty((14, 17), np.float32)
    resample(plane, down, across, out)
    exact = np.array([line(row, 17, begin, step, phase) for row in plane.astype(float)])
    exact = np.array([line(column, 14, begin, step, phase) for column in exact.T]).T
    # Some 40 additions of float32 numbers up to 256, twice.
    assert np.abs(out - exact).max() < 1e-3
    parts = np.empty_like(out)
    for first in range(0, 14, 5):
        resample(plane, down, across, parts[first : first + 5], first=first)
    assert np.array_equal(parts, out)


@pytest.mark.parametrize("scale", [2, 3])
@pytest.mark.parametrize("phase", [0.25, 0.5])
def test_enlarging_is_that_of_bicubic(scale, phase):
    plane = np.random.default_rng(5).integers(0, 256, (9, 11)).astype(np.uint8)
    expected, out = (np.empty((9 * scale, 11 * scale), np.float32) for _ in range(2))
    bicubic(plane, scale, expected, phase=(phase, phase))
    resample(
        plane, axis(9 * scale, 0, 1 / scale, phase), axis(11 * scale, 0, 1 / scale, phase), out
    )
    assert np.abs(out - expected).max() < 1e-3  # rounding of float32


def test_samples_are_rounded_and_clipped():
    plane = np.zeros((8, 8), np.uint8)
    plane[:, 4:] = 255
    same = axis(8, 0, 1, 0.5)
    out = np.empty((8, 12), np.uint8)
    resample(plane, same, axis(12, 0, 2 / 3, 0.5), out, bits=8)
    assert set(out[0, :4]) == {0}  # the cubic's undershoot is below black
    assert set(out[0, 8:]) == {255}
