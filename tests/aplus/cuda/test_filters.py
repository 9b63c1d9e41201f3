"""One filter for each dimension of a feature, against the chain of steps that it replaces."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.cuda.filters import compose, side
from support.aplus import reference
from support.aplus.oriented import oriented_model
from support.aplus.stages import filtered


def chain(plane, model, row, column):
    """The feature of the window centred on a low-resolution pixel, step by step in float64."""
    s, w = model.scale, model.window
    extra = w // 2 + 1  # windows at the edge want pixels beyond it
    wide = np.pad(np.asarray(plane, np.float64), extra + 4, mode="edge")
    oriented = model.strengths is not None
    planes = reference.differences(reference.bicubic(wide, s), s, oriented)
    corner = [(i + extra + 4 - w // 2) * s for i in (row, column)]
    return model.basis.T.astype(np.float64) @ reference.raw_feature(planes, *corner, w * s)


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_equal_to_the_steps(random, random_model, scale, window):
    check(random, random_model(scale, window))


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_equal_to_the_steps_of_format_2(random, scale):
    check(random, oriented_model(scale))


def check(random, model):
    plane = random.random((13, 11))
    found = filtered(plane, compose(model))
    for row, column in [(6, 5), (0, 0), (12, 10), (0, 7), (11, 1)]:
        # Some hundred float64 roundings of values up to 1.
        np.testing.assert_allclose(
            found[row, column], chain(plane, model, row, column), rtol=0, atol=1e-13
        )


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
def test_sum_to_zero(random_model, scale, window):
    filters = compose(random_model(scale, window, dims=28))
    assert filters.shape == (side(window), side(window), min(28, 4 * (window * scale) ** 2))
    # Up to 121 float64 roundings of weights below 1.
    assert np.abs(filters.sum(axis=(0, 1))).max() < 1e-14 * side(window) ** 2
    assert np.abs(filters).max() > 0.01
