"""The anchor of each feature: exact where sums are exact, else within rounding."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.match import ANCHORS as BLOCK
from snellen.aplus.match import GROUP, PATCHES, match

UNIT = 2.0**-24
COUNTS = [1, 7, PATCHES - 1, PATCHES, PATCHES + 1, 2 * PATCHES + 13]
ANCHORS = [
    1,
    2,
    GROUP - 1,
    GROUP,
    GROUP + 1,
    2 * GROUP,
    2 * GROUP + 5,
    BLOCK - 1,
    BLOCK,
    BLOCK + 1,
    2 * BLOCK + 12,
]


def chosen(features, anchors, out=None):
    out = np.full(features.shape[1], -1, np.int32) if out is None else out
    match(features, anchors, out)
    return out


def whole_numbers(random, anchors, dims, count, most=3):
    """Small integers: every float32 sum is exact in any order, and ties are many."""
    a = random.integers(-most, most, (anchors, dims), endpoint=True).astype(np.float32)
    f = random.integers(-most, most, (dims, count), endpoint=True).astype(np.float32)
    return f, a


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("anchors", ANCHORS)
def test_exact_with_ties(random, count, anchors):
    features, a = whole_numbers(random, anchors, 3, count)
    scores = np.abs(a @ features)
    if anchors > GROUP and count > 7:
        assert ((scores == scores.max(axis=0)).sum(axis=0) > 1).any()
    assert (chosen(features, a) == scores.argmax(axis=0)).all()


@pytest.mark.parametrize("dims", [1, 2, 28, 31])
def test_exact_with_as_many_anchors_as_learnt(random, dims):
    features, a = whole_numbers(random, 1024, dims, 700)
    assert (chosen(features, a) == np.abs(a @ features).argmax(axis=0)).all()


def test_only_two_values_so_that_all_tie(random):
    features, a = whole_numbers(random, 1024, 2, 600, most=1)
    assert (chosen(features, a) == np.abs(a @ features).argmax(axis=0)).all()


@pytest.mark.parametrize("count", [1, 600])
def test_duplicated_and_negated_anchors_give_the_first(random, count):
    features, a = whole_numbers(random, 40, 9, count, most=50)
    features[0] = 1
    first = chosen(features, a)
    assert (chosen(features, np.concatenate([a, a])) == first).all()
    assert (chosen(features, np.concatenate([a, -a, a])) == first).all()
    assert (chosen(features, -a) == first).all()
    twice = np.repeat(a, 2, axis=0)
    assert (chosen(features, twice) == 2 * first).all()


def test_a_zero_feature_takes_the_first(random):
    features, a = whole_numbers(random, 37, 5, 520)
    features[:, [0, 100, 519]] = 0
    found = chosen(features, a)
    assert found[0] == found[100] == found[519] == 0
    assert (found == np.abs(a @ features).argmax(axis=0)).all()


@pytest.mark.parametrize("index", [0, 7, 8, BLOCK - 1, BLOCK, 1023])
def test_the_best_anchor_may_have_any_index(index):
    anchors = np.full((1024, 4), 0.25, np.float32)
    anchors[index] = -1
    assert (chosen(np.ones((4, 3), np.float32), anchors) == index).all()


@pytest.mark.parametrize("seed", range(4))
def test_random_features_within_rounding(seed):
    random = np.random.default_rng(seed)
    dims = (28, 30, 31, 5)[seed]
    anchors = random.normal(size=(1024, dims))
    anchors = (anchors / np.linalg.norm(anchors, axis=1, keepdims=True)).astype(np.float32)
    features = random.normal(size=(dims, 1500)).astype(np.float32)
    found = chosen(features, anchors)
    scores = np.abs(anchors.astype(np.float64) @ features)
    # Products and sums of unit anchors and the feature: (dims + 1) roundings of at most its norm.
    error = (dims + 1) * UNIT * np.linalg.norm(features, axis=0)
    assert (scores.max(axis=0) - scores[found, range(1500)] <= 2 * error).all()
    flipped = found != scores.argmax(axis=0)
    assert flipped.mean() < 0.005


def test_layouts(random):
    features, a = whole_numbers(random, 50, 6, 530, most=30)
    wanted = chosen(features, a)
    pitched = np.full((6, 800), np.nan, np.float32)
    pitched[:, 11:541] = features
    assert (chosen(pitched[:, 11:541], a) == wanted).all()
    assert (chosen(np.asfortranarray(features), a) == wanted).all()
    assert (chosen(np.repeat(features, 2, axis=1)[:, ::2], a) == wanted).all()
    buffer = np.full(1200, -7, np.int32)
    assert (chosen(features, a, buffer[20:550]) == wanted).all()
    assert (buffer[:20] == -7).all() and (buffer[550:] == -7).all()


def test_inputs_are_only_read(random):
    features, a = whole_numbers(random, 20, 4, 33)
    before = features.copy(), a.copy()
    chosen(features, a)
    assert (features == before[0]).all() and (a == before[1]).all()
