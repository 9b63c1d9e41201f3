"""Statistics of filtered blocks and the visibility mask on the GPU, in one strip and in many."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.csf import csf
from snellen.mad.cuda.masking import Masking
from snellen.mad.definition import grid
from support.mad import reference
from support.mad.precision import DTYPES, finer

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (36, 36), (37, 53), (131, 70), (40, 524), (45, 1030)]
"""A strip has 29 blocks across (128 pixels), a block of threads four strips."""


def described(cuda, plane, level=0.0):
    """Mean and deviation of a plane of which the lightness `level` was taken off."""
    height, width = plane.shape
    out = cuda.full((2, *grid(height, width)), cuda.nan, plane.dtype)
    taken = cuda.asarray([cuda.nan, level], plane.dtype)
    Masking(height, width, plane.dtype.name).describe(cuda.asarray(plane), taken, out[0], out[1])
    return out


def visible(cuda, light, error):
    height, width = light.shape
    kept = described(cuda, light)
    mask = cuda.full(grid(height, width), cuda.nan, light.dtype)
    Masking(height, width, light.dtype.name).visibility(cuda.asarray(error), kept[0], kept[1], mask)
    return mask.get()


def scene(random, size, dtype):
    """Lightness with dark, negative and flat parts, and an error that is nothing in some places."""
    light = random.normal(1.2, 0.3, size)
    light[:, : size[1] // 4] -= 1  # below the gate
    light[-12:, -20:] -= 3
    light[8:26, 10:30] = 1.5
    error = random.normal(0, 0.8, size) * np.linspace(0, 1, size[1])
    error[:20, -20:] = 0
    return light.astype(dtype), error.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mean", "deviation", "rtol"), [(10, 1, 5e-6), (100, 0.1, 1e-4)])
@pytest.mark.parametrize("size", SIZES)
def test_statistics(cuda, random, size, mean, deviation, rtol, dtype):
    """The deviation is as good as means of tiles, rounded to 2⁻²⁴, are beside it."""
    plane = random.normal(mean, deviation, size).astype(dtype)
    found = described(cuda, plane).get()
    exact = plane.astype(np.float64)
    means, deviations = reference.block_mean(exact), reference.block_std(exact, side=8)
    np.testing.assert_allclose(found[0], means, rtol=finer(dtype, 5e-7))
    np.testing.assert_allclose(found[1], deviations, rtol=finer(dtype, rtol))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_mean_is_that_with_the_level(cuda, random, dtype):
    """Which comes through the filter as its gain of the zero frequency, 0.9809."""
    level, plane = 1.5, random.normal(0, 0.1, (40, 53)).astype(dtype)
    found = described(cuda, plane, level).get()
    wanted = reference.block_mean(plane.astype(np.float64)) + csf(40, 53)[0, 0] * level
    np.testing.assert_allclose(found[0], wanted, rtol=finer(dtype, 3e-7))
    assert found[1].tobytes() == described(cuda, plane).get()[1].tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_visibility(cuda, random, size, dtype):
    light, error = scene(random, size, dtype)
    found = visible(cuda, light, error)
    exact = light.astype(np.float64)
    wanted = reference.visibility(exact, exact + error)
    gate = np.abs(reference.block_mean(exact) - reference.GATE) < 1e-5  # either side is right
    assert gate.mean() < 0.05 and (wanted > 0).any() and (wanted == 0).any()
    # Logarithms of contrasts that are within 5e-6 of themselves; two of them.
    np.testing.assert_allclose(found[~gate], wanted[~gate], rtol=0, atol=finer(dtype, 2e-5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(24, 24), (25, 26), (27, 25), (34, 37), (37, 34)])
def test_probes_count_while_they_are_less_than_the_size_less_15(cuda, random, size, dtype):
    """At every remainder of 4: those whose probes count read that one block has no deviation."""
    light = random.normal(10, 1, size)
    light[8:16, 8:16] = 10
    light = light.astype(dtype)
    error = random.normal(0, 3, size).astype(dtype)
    exact = light.astype(np.float64)
    wanted = reference.visibility(exact, exact + error)
    atol = finer(dtype, 2e-5)  # as above
    np.testing.assert_allclose(visible(cuda, light, error), wanted, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shortest", [1, 2, 7, 10_000])
def test_strips_change_nothing(cuda, random, monkeypatch, shortest, dtype):
    """10,000: a single one."""
    light, error = scene(random, (131, 140), dtype)
    wanted = visible(cuda, light, error)
    monkeypatch.setattr("snellen.mad.cuda.strips.SHORTEST", shortest)
    if shortest < 10:  # else multiprocessors, of which there are many, decide
        monkeypatch.setattr("snellen.mad.cuda.strips.multiprocessors", lambda: 10_000)
    assert visible(cuda, light, error).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_seen_of_nothing(cuda, dtype):
    """Neither where the reference is dark, flat or both."""
    nothing = np.zeros((40, 45), dtype)
    assert (visible(cuda, nothing, nothing) == 0).all()
    assert (visible(cuda, nothing + 1, nothing) == 0).all()
    assert (visible(cuda, nothing, nothing + np.eye(40, 45, dtype=dtype)) == 0).all()
