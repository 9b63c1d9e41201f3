"""The MAD reference of the benchmarks is the method: against the tests' own reference."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench import mad as cases
from snellen.bench.reference import mad
from support.mad import reference


def grey(width, height, kind="noise"):
    """A picture and a distorted one, float64."""
    one, other = (plane.astype(np.float64) for plane in cases.planes(width, height))
    if kind == "coarse":
        other = np.rint(one / 16) * 16
    return one, other


@pytest.mark.slow
@pytest.mark.parametrize("size", [(34, 34), (35, 61), (64, 48), (57, 40)])
@pytest.mark.parametrize("kind", ["noise", "coarse"])
def test_it_is_the_reference(size, kind):
    found, wanted = mad.score(*grey(*size, kind)), reference.mad(*grey(*size, kind))
    # Both in float64, sums in another order.
    np.testing.assert_allclose(
        [found.mad, found.hi, found.lo], [wanted.mad, wanted.hi, wanted.lo], rtol=1e-11
    )
    np.testing.assert_allclose(found.detection, wanted.detection, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.appearance, wanted.appearance, rtol=1e-9, atol=1e-9)


def test_a_picture_is_itself_and_flat_ones_are_defined():
    one, flat = grey(60, 50)[0], np.full((50, 60), 90.0)
    assert mad.score(one, one).mad == 0
    assert np.isfinite(mad.score(flat, one).mad) and mad.score(flat, flat).mad == 0
