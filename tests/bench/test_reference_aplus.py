"""The A+ reference of the benchmarks is the method: against the tests' own reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen.bench.reference import aplus
from support.aplus import reference
from support.aplus.images import noise
from support.aplus.oriented import oriented_model, tied_pictures


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("size", [(9, 11), (40, 23)])
def test_it_is_the_authors(random, random_model, scale, window, size):
    """Against float64; the ring of `scale` pixels stays bicubic there."""
    model = random_model(scale, window)
    low = random.random(size, np.float32)
    total, count, unsure = reference.windows_of(low, model, 1.0)
    inside = (count > 0) & ~unsure
    assert unsure.mean() < 0.03
    found = aplus.upscale(low, model)
    norm = np.linalg.norm(model.projections, axis=2).max()
    # Bicubic's 1e-6 and, through the projection, the features' error, as for the fast backend.
    error = 1e-6 + norm * reference.rounding(len(model.basis), 1.0)
    np.testing.assert_allclose(found[inside], total[inside] / count[inside], rtol=0, atol=error)
    outside = count == 0
    np.testing.assert_allclose(
        found[outside], reference.bicubic(low, scale)[outside], rtol=0, atol=1e-6
    )


def test_in_float64_it_is_float64(random, random_model):
    model = random_model(3)
    low = random.random((20, 23))
    total, count, _ = reference.windows_of(low, model, 1.0)
    inside = count > 0
    # Both in float64: a few units of 1e-16 through some hundred sums.
    np.testing.assert_allclose(
        aplus.upscale(low, model)[inside], total[inside] / count[inside], rtol=0, atol=1e-13
    )


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("size", [(23, 17), (9, 30)])
def test_with_our_border(random, random_model, scale, size):
    model = random_model(scale)
    plane = random.random(size)
    wanted, _ = reference.upscale(plane, model)
    # Float64 in another order.
    np.testing.assert_allclose(aplus.bordered(plane, model), wanted, rtol=0, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_turned_windows(random, scale):
    """Format 2; also where orientations tie."""
    model = oriented_model(scale)
    of_codes = replace(model, strengths=model.strengths * np.float32(255))
    pictures = tied_pictures(random, 8, 11)
    for plane in (noise(random, 8, (9, 12)), pictures["mirrored"], pictures["saddle"]):
        wanted, unsure = reference.upscale(plane, of_codes, 255)
        found = aplus.bordered(plane, model, 255)
        # Float64 in another order.
        np.testing.assert_allclose(found[~unsure], wanted[~unsure], rtol=0, atol=1e-10)
        assert unsure.mean() < 0.3
