"""Appearance, step 1."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.loggabor import bank, product
from support.mad import reference
from support.mad.drawn import SIZES, nans


def filters(shape, strip, dtype=np.float64):
    """Radial and angular factors, some rows at a time."""
    radial, angular = nans(5, *shape, dtype=dtype), nans(4, *shape, dtype=dtype)
    for first in range(0, shape[0], strip):
        bank(slice(first, first + strip), radial, angular)
    return radial, angular


@pytest.mark.parametrize("shape", [*SIZES, (40, 40), (41, 40), (40, 41), (41, 41)])
@pytest.mark.parametrize("strip", [1000, 16, 1])
def test_the_bank(shape, strip):
    radial, angular = filters(shape, strip)
    # Exponents of up to 30, rounded in another order.
    np.testing.assert_allclose(
        radial[:, None] * angular, reference.bank(shape), rtol=1e-12, atol=1e-300
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product(random, dtype):
    shape = (37, 34)
    radial, angular = filters(shape, 5, dtype)
    spectrum = random.normal(size=(*shape, 2)).astype(dtype)
    out = nans(*shape, 2, dtype=dtype)
    product(spectrum, radial[2], angular[3], out)
    gain = radial[2].astype(np.float64) * angular[3]
    # Two products, each rounded.
    wanted = spectrum * gain[..., None]
    np.testing.assert_allclose(out, wanted, rtol=2 * np.finfo(dtype).eps, atol=1e-40)
