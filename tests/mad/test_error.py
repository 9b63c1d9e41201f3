"""Detection, step 4."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.error import local_mse
from support.mad import reference
from support.mad.drawn import SIZES, nans


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("strip", [1000, 7, 1])
def test_against_the_reference(random, shape, strip):
    difference = random.normal(0, 20, shape)
    out = nans(*shape)
    for first in range(0, shape[0], strip):
        local_mse(difference, first, min(first + strip, shape[0]), out)
    wanted = reference.local_mse(difference, np.zeros(shape))
    np.testing.assert_allclose(out, wanted, rtol=1e-13)  # 256 squares in another order


def test_a_flat_place_beside_a_bright_one_stays_0():
    difference, out = np.zeros((60, 60)), nans(60, 60)
    difference[:10, :10] = 255
    local_mse(difference, 0, 60, out)
    assert out[:2, :2].min() > 0 and not out[17:].any() and not out[:, 17:].any()
