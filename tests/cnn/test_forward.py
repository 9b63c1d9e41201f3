"""The NumPy forward against the definition in float64."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.cnn import forward
from support.cnn import reference


@pytest.mark.parametrize(
    ("scale", "layers", "channels", "side"),
    [(2, 4, 16, 5), (3, 1, 5, 3), (4, 0, 3, 5), (2, 2, 32, 3)],
)
@pytest.mark.parametrize("shape", [(17, 23), (1, 1), (33, 6)])
def test_residual(random, scale, layers, channels, side, shape):
    model = reference.model(random, scale, layers, channels, side)
    codes = random.integers(0, 256, shape).astype(np.float32)
    wanted = reference.residual(codes, model)
    # Values near 1 in units of 128 codes, float32 sums of up to 288 products in each of 6 stages.
    np.testing.assert_allclose(forward.residual(codes, model), wanted, rtol=0, atol=128 * 2e-5)


def test_a_part_is_what_it_is_in_the_whole(random):
    model = reference.model(random, 2, 4, 16)
    codes = random.integers(0, 256, (60, 40)).astype(np.float32)
    reach = 6
    part = forward.residual(codes[7:44, 5:33], model)
    inside = (slice(2 * reach, -2 * reach),) * 2
    whole = forward.residual(codes, model)[14:88, 10:66]
    # BLAS may sum in another order for another number of columns.
    np.testing.assert_allclose(part[inside], whole[inside], rtol=0, atol=128 * 2e-5)
