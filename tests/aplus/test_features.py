"""Differences, collecting, PCA against convolution and windows in float64."""

from __future__ import annotations

import numpy as np
import pytest

from aplus import reference
from snellen.aplus.differences import FILTERS, differences
from snellen.aplus.features import collect, features, margin

SIZES = [(1, 1), (1, 9), (5, 1), (3, 4), (7, 6)]


def raw_reference(mid, scale, window):
    """Every window centred on a pixel inside the margin: (4·(w·s)², r, n)."""
    around = margin(window)
    rows, columns = (length // scale - 2 * around for length in mid.shape)
    planes = reference.differences(mid.astype(np.float64), scale)
    side = window * scale
    out = np.empty((FILTERS * side * side, rows, columns))
    for r in range(rows):
        for c in range(columns):
            corner = (r + around - window // 2) * scale, (c + around - window // 2) * scale
            out[:, r, c] = reference.raw_feature(planes, *corner, side)
    return out


def strip(random, size, scale, window):
    around = 2 * margin(window)
    shape = ((size[0] + around) * scale, (size[1] + around) * scale)
    return random.random(shape, np.float32)


def planes_of(mid, scale):
    shape = (FILTERS, scale, mid.shape[0] - 2 * scale, mid.shape[1] // scale - 2)
    planes = np.full(shape, np.nan, np.float32)
    differences(mid, scale, planes)
    assert not np.isnan(planes).any()
    return planes


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("size", SIZES)
def test_collect(random, scale, window, size):
    mid = strip(random, size, scale, window)
    wanted = raw_reference(mid, scale, window)
    out = np.full(wanted.shape, np.nan, np.float32)
    collect(planes_of(mid, scale), window, 0, 0, out)
    # At most two sums of values up to 1, each rounded once.
    np.testing.assert_allclose(out, wanted, rtol=0, atol=2 * reference.UNIT)


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", [1, 2])
def test_features(random_model, scale, window, size, seed):
    random = np.random.default_rng(seed)
    basis = random_model(scale, window, seed=seed).basis
    mid = strip(random, size, scale, window)
    wanted = basis.T.astype(np.float64) @ raw_reference(mid, scale, window).reshape(len(basis), -1)
    raw = np.full((len(basis), size[1]), np.nan, np.float32)
    out = np.full(wanted.shape, np.nan, np.float32)
    planes, turned = planes_of(mid, scale), np.ascontiguousarray(basis.T)
    for row in range(size[0]):
        some = out[:, row * size[1] : (row + 1) * size[1]]
        features(planes, window, row, 0, turned, raw, some)
    # A sum of n products of |raw| ≤ 2 and a column of norm 1: |Σ| of their magnitudes is at most
    # 2·√n, and its rounding error grows like √n units; the collected values' own adds as much.
    n = len(basis)
    np.testing.assert_allclose(out, wanted, rtol=0, atol=4 * n * reference.UNIT)


def test_views_as_the_composer_gives_them(random, random_model):
    """Part of a row of windows, scratch and output longer than needed."""
    scale, window, columns, some = 2, 3, 11, 4
    basis = np.ascontiguousarray(random_model(scale).basis.T)
    planes = planes_of(strip(random, (2, columns), scale, window), scale)
    dims, size = basis.shape
    whole = np.empty((dims, columns), np.float32)
    features(planes, window, 1, 0, basis, np.empty((size, columns), np.float32), whole)
    raw = np.full((size, 9), np.nan, np.float32)
    out = np.full((dims, 9), np.nan, np.float32)
    features(planes, window, 1, 3, basis, raw[:, :some], out[:, :some])
    # The matrix product may order its sums by the number of columns: n roundings.
    np.testing.assert_allclose(out[:, :some], whole[:, 3:7], atol=4 * 144 * reference.UNIT)
    assert np.isnan(out[:, some:]).all() and np.isnan(raw[:, some:]).all()


@pytest.mark.parametrize(("scale", "ahead", "behind"), [(2, 1, 1), (3, 2, 1), (4, 2, 2)])
def test_taps_of_the_gradient(scale, ahead, behind):
    """METHODS' trap: at ×3 the gradient is off-centre, M[j+2] − M[j−1]."""
    mid = np.zeros((5 * scale, 5 * scale), np.float32)
    y, x = 2 * scale + 1, 2 * scale
    mid[y, x] = 1
    side = 3 * scale
    out = np.empty((4 * side * side, 1, 1), np.float32)
    collect(planes_of(mid, scale), 3, 0, 0, out)
    planes = out.reshape(4, side, side).transpose(0, 2, 1)
    y, x = y - scale, x - scale
    across, down = np.zeros((2, side, side))
    across[y, x - ahead], across[y, x + behind] = 1, -1
    down[y - ahead, x], down[y + behind, x] = 1, -1
    assert (planes[0] == across).all() and (planes[1] == down).all()
    across, down = np.zeros((2, side, side))
    across[y, x - scale], across[y, x], across[y, x + scale] = 0.5, -1, 0.5
    down[y - scale, x], down[y, x], down[y + scale, x] = 0.5, -1, 0.5
    assert (planes[2] == across).all() and (planes[3] == down).all()


def test_a_flat_strip_has_zero_features(random_model):
    basis = random_model(3).basis
    mid = np.full((3 * 5, 3 * 9), 0.7, np.float32)
    out = np.full((basis.shape[1], 5), np.nan, np.float32)
    raw = np.empty((len(basis), 5), np.float32)
    features(planes_of(mid, 3), 3, 0, 0, np.ascontiguousarray(basis.T), raw, out)
    assert (out == 0).all()
