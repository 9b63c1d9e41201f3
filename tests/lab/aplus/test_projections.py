"""The regressors: nearest samples and ridge regression."""

from __future__ import annotations

import numpy as np
import pytest

from snellen_lab.aplus import projections, samples
from support.aplus import training_reference as reference


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 50, 3000])
def test_nearest(random, pool, count):
    features = reference.unit_rows(random, (3000, 7)).astype(np.float32)
    features[100] = 0
    anchors = reference.unit_rows(random, (300, 7)).astype(np.float32)  # more than one block
    found = projections.nearest(features, anchors, count, pool)
    wanted = reference.nearest(features.astype(np.float64), anchors.astype(np.float64), count)
    for mine, theirs, anchor in zip(found, wanted, anchors, strict=True):
        assert (np.diff(mine) > 0).all()
        distance = ((features - anchor) ** 2).sum(1)
        swapped = np.setxor1d(mine, theirs)
        # A sample may be exchanged only for one as far away, within float32 rounding of sums of 7.
        assert np.ptp(distance[swapped]) < 2e-6 if len(swapped) else True


def test_nearest_takes_the_earlier_of_equals(pool):
    features = np.tile(np.array([[0.6, 0.8]], np.float32), (5000, 1))
    features[4000] = 1, 0
    found = projections.nearest(features, np.array([[1, 0]], np.float32), 5, pool)
    assert found.tolist() == [[0, 1, 2, 3, 4000]]


def test_projections_are_ridge_regression(random, pool):
    low = reference.unit_rows(random, (900, 5)).astype(np.float32)
    high = random.normal(size=(900, 4)).astype(np.float32)
    anchors = reference.unit_rows(random, (11, 5)).astype(np.float32)
    some = samples.Samples(low, high)
    found = projections.learn(some, anchors, neighbours=60, ridge=0.1, pool=pool)
    for k, chosen in enumerate(projections.nearest(low, anchors, 60, pool)):
        wanted = reference.projection(
            low[chosen].T.astype(np.float64), high[chosen].T.astype(np.float64), 0.1
        )
        # Computed in double, rounded to float32; values up to about 3.
        np.testing.assert_allclose(found[k], wanted, rtol=0, atol=5e-7)
