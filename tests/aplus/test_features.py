"""Collecting and PCA against windows and sums in float64."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus import features as stage
from snellen.aplus.features import collect, features, margin
from support.aplus import reference

CASES = [(1, 1, 0, 0), (1, 9, 0, 0), (5, 1, 2, 0), (3, 4, 1, 2), (2, 700, 1, 1)]


def strip(random, scale, window, rows, columns):
    """Four planes with a margin of window // 2: as pictures, and by column phase."""
    height, width = (rows + window - 1) * scale, (columns + window - 1) * scale
    pictures = random.normal(size=(4, height, width)).astype(np.float32)
    by_phase = [[p[:, phase::scale] for phase in range(scale)] for p in pictures]
    return pictures, np.array(by_phase)


def windows(pictures, scale, window, row, left, count):
    side = window * scale
    corners = [(row * scale, (left + n) * scale) for n in range(count)]
    return np.array([reference.raw_feature(pictures, i, j, side) for i, j in corners]).T


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("case", CASES[:4])
def test_collect_copies_each_window(random, scale, window, case):
    rows, columns, row, left = case
    pictures, planes = strip(random, scale, window, rows + row, columns + left)
    out = np.full((4 * (window * scale) ** 2, rows, columns), np.nan, np.float32)
    collect(planes, window, row, left, out)
    for r in range(rows):
        wanted = windows(pictures, scale, window, row + r, left, columns)
        assert (out[:, r] == wanted).all()


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("case", CASES)
def test_features(random, random_model, scale, window, case):
    rows, columns, row, left = case
    basis = random_model(scale, window).basis
    pictures, planes = strip(random, scale, window, rows + row, columns + left)
    raw = np.full((len(basis), columns), np.nan, np.float32)
    out = np.full((basis.shape[1], columns), np.nan, np.float32)
    features(planes, window, row, left, np.ascontiguousarray(basis.T), raw, out)
    collected = windows(pictures.astype(np.float64), scale, window, row, left, columns)
    wanted = basis.T.astype(np.float64) @ collected
    # n products and n − 1 sums, each rounded by a unit of at most the magnitudes' sum.
    bound = len(basis) * reference.UNIT * (np.abs(basis.T) @ np.abs(collected))
    assert (np.abs(out - wanted) <= bound).all()


@pytest.mark.parametrize("product", [1, 144 * 7 * 20, 10**9])
def test_any_number_of_columns_a_product(random, random_model, monkeypatch, product):
    basis = np.ascontiguousarray(random_model(2).basis.T)
    _, planes = strip(random, 2, 3, 1, 53)
    raw = np.full((basis.shape[1], 53), np.nan, np.float32)
    one, other = np.full((2, len(basis), 53), np.nan, np.float32)
    features(planes, 3, 0, 0, basis, raw, one)
    monkeypatch.setattr(stage, "PRODUCT", product)
    features(planes, 3, 0, 0, basis, raw, other)
    # Only the order of the sums may differ: 144 products of magnitude up to 4 · 0.3.
    np.testing.assert_allclose(one, other, rtol=0, atol=144 * reference.UNIT)


def test_a_part_of_a_row(random, random_model):
    """Scratch and output longer than needed: the rest stays as it is."""
    basis = np.ascontiguousarray(random_model(2).basis.T)
    _, planes = strip(random, 2, 3, 1, 11)
    whole = np.empty((len(basis), 11), np.float32)
    features(planes, 3, 0, 0, basis, np.empty((basis.shape[1], 11), np.float32), whole)
    raw = np.full((basis.shape[1] + 1, 4), np.nan, np.float32)
    out = np.full((len(basis) + 1, 4), np.nan, np.float32)
    features(planes, 3, 0, 3, basis, raw[:-1], out[:-1])
    # Only the order of the sums may differ, as above.
    np.testing.assert_allclose(out[:-1], whole[:, 3:7], rtol=0, atol=144 * reference.UNIT)
    assert np.isnan(out[-1]).all() and np.isnan(raw[-1]).all()


@pytest.mark.parametrize(("window", "wanted"), [(1, 1), (3, 2), (5, 3)])
def test_margin(window, wanted):
    assert margin(window) == wanted
