"""The last step."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.combine import mad, rms, tiles
from snellen.mad.definition import grid
from support.mad import reference
from support.mad.drawn import SIZES, nans


@pytest.mark.parametrize("shape", SIZES)
def test_spread(random, shape):
    values = random.normal(size=grid(*shape))
    out = nans(*shape)
    tiles(out, *values.shape)[...] = values[:, None, :, None]
    np.testing.assert_array_equal(out, reference.spread(values, shape))


@pytest.mark.parametrize("shape", SIZES)
def test_pooling(random, shape):
    plane = random.normal(size=shape)
    assert rms(plane) == pytest.approx(reference.pooled(plane), rel=1e-14)
    assert rms(plane.astype(np.float32)) == pytest.approx(reference.pooled(plane), rel=1e-6)


@pytest.mark.parametrize(("hi", "lo"), [(0, 0), (0, 5), (5, 0), (1e-9, 3), (40, 12), (700, 0.1)])
def test_the_score(hi, lo):
    assert mad(hi, lo) == pytest.approx(reference.combine(hi, lo), rel=1e-14)
    assert (mad(hi, lo) == 0) == (hi == 0 or lo == 0)
