"""Detection, step 3."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.definition import grid
from snellen.mad.masking import TILES, WINDOW, blocks, least, tiles, visibility
from support.mad import reference
from support.mad.drawn import SIZES, nans


def described(plane, side):
    """Mean and deviation of windows at the blocks' corners."""
    rows, columns = grid(*plane.shape)
    mean, squares = nans(2, rows + 3, columns + 3)
    tiles(plane, mean, squares)
    out = nans(2, rows, columns)
    blocks(mean, squares, side, *out)
    return out


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("level", [0.0, 1.0, 1e6])
def test_means_and_deviations(random, shape, level):
    plane = level + random.normal(0, 0.01, shape)
    mean, deviation = described(plane, TILES)
    # Samples of 1e6 are themselves rounded to 1e-10, which is 1e-8 of the deviation; both sides
    # centre them and so lose no more.
    np.testing.assert_allclose(mean, reference.block_mean(plane), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(deviation, reference.block_std(plane), rtol=1e-7)
    _, deviation = described(plane, WINDOW)
    np.testing.assert_allclose(deviation, reference.block_std(plane, 8), rtol=1e-7)


@pytest.mark.parametrize("shape", [*SIZES, (24, 25), (25, 26), (26, 27), (27, 24)])
def test_the_probes(random, shape):
    plane = random.normal(size=shape)
    _, deviation = described(plane, WINDOW)
    out = nans(*deviation.shape)
    least(deviation, *shape, out)
    np.testing.assert_allclose(out, reference.modified_std(plane), rtol=1e-13)
    assert (out < deviation).any()


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("noise", [0.001, 0.05, 1.0])
def test_visibility(random, shape, noise):
    plane = 1 + random.normal(0, 0.02, shape)
    plane[:, : shape[1] // 2] = np.linspace(-0.2, 1, shape[0])[:, None]  # dark, negative, flat
    error = random.normal(0, noise, shape)
    error[:20, -20:] = 0
    wanted = reference.visibility(plane, plane + error)
    rows, columns = wanted.shape
    mean, _ = described(plane, TILES)
    _, masking = described(plane, WINDOW)
    narrow = nans(rows, columns)
    least(masking, *shape, narrow)
    _, seen = described(error, TILES)
    out = nans(rows, columns)
    visibility(mean, narrow, seen, out)
    # Logarithms of deviations; (plane + error) − plane is rounded on the reference's side, to
    # 1e-16 against an error of 1e-3.
    np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-11)
    assert (out > 0).any() or noise < 1


@pytest.mark.parametrize(
    ("mean", "masking", "error", "wanted"),
    [
        (0.49999, 0.0, 1.0, 0.0),  # too dark
        (0.5, 0.0, 0.5, 5.0),  # a flat reference masks nothing: ln 1 + 5
        (-1.0, 0.1, 1.0, 0.0),  # a negative mean is dark
        (1.0, 0.0, 0.0, 0.0),  # no error
        (1.0, np.exp(-2), np.exp(-1), 1.0),
        (1.0, np.exp(-1), np.exp(-2), 0.0),  # masked
        (1.0, np.exp(-6), np.exp(-4), 1.0),  # contrast below −5 counts as −5
        (1.0, np.exp(-6), np.exp(-5.5), 0.0),
    ],
)
def test_one_block(mean, masking, error, wanted):
    out = nans(1, 1)
    visibility(*(np.full((1, 1), x) for x in (mean, masking, error)), out)
    assert out == pytest.approx(wanted, abs=1e-14)
