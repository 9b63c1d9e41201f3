"""Appearance, step 3."""

from __future__ import annotations

import numpy as np

from snellen.mad.difference import WEIGHTS, difference
from support.mad import reference
from support.mad.drawn import nans


def test_the_weights():
    np.testing.assert_allclose(WEIGHTS, reference.SCALE_WEIGHTS, rtol=1e-15)


def test_weighted_by_scale(random):
    one, other = random.normal(size=(2, 5, 4, 3, 6, 7))
    out = nans(6, 7)
    difference(one, other, out)
    std, skew, kurtosis = np.moveaxis(np.abs(one - other), 2, 0)
    terms = std + 2 * skew + kurtosis
    wanted = np.tensordot(reference.SCALE_WEIGHTS, terms.sum(1), 1)
    np.testing.assert_allclose(out, wanted, rtol=1e-14)  # 60 terms in another order
    difference(one, one.copy(), out)
    assert not out.any()
