"""The plain port is the method: it is the truth of the benchmark's checks."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench.mad import plain
from snellen.bench.mad.cases import CASES, KINDS, Case, pair
from support.mad import reference


@pytest.mark.parametrize("size", [(34, 34), (35, 61), (64, 48), (57, 40)])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_reference(size, kind):
    grey = pair(Case(*size), kind).grey()
    found, wanted = plain.score(*grey), reference.mad(*grey)
    # Both in float64, sums in another order.
    np.testing.assert_allclose(
        [found.mad, found.hi, found.lo], [wanted.mad, wanted.hi, wanted.lo], rtol=1e-11
    )
    np.testing.assert_allclose(found.detection, wanted.detection, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.appearance, wanted.appearance, rtol=1e-9, atol=1e-9)


def test_a_picture_is_itself_and_flat_ones_are_defined():
    one, flat = pair(CASES[0]).grey()[0][:50, :60], np.full((50, 60), 90.0)
    assert plain.score(one, one).mad == 0
    assert np.isfinite(plain.score(flat, one).mad) and plain.score(flat, flat).mad == 0


@pytest.mark.parametrize("bits", [8, 10, 0])
def test_pairs(bits):
    given = pair(Case(50, 40), "noise", bits)
    assert given.format.bits == bits and given.reference.shape == (40, 50)
    assert given.peak == {8: 255, 10: 1023, 0: 1}[bits]
    one, other = given.grey()
    assert one.max() <= 255 and one.max() > 150 and 0 < np.abs(one - other).mean() < 10
