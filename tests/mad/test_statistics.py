"""Appearance, steps 2 and 3."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.definition import grid
from snellen.mad.statistics import WEIGHTS, difference, statistics
from support.mad import reference
from support.mad.drawn import SIZES, nans


def found(response, dtype=np.float64):
    out = nans(3, *grid(*response.shape))
    parts = np.stack([response.real, response.imag], axis=-1).astype(dtype)
    statistics(parts, out)
    return out


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("level", [0, 30, 1e5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_the_reference(random, shape, level, dtype):
    """Also far from 0, where sums of raw powers would have no digit left."""
    response = level + random.normal(size=shape) + 1j * random.exponential(size=shape)
    response = response.astype(np.result_type(dtype, np.complex64))
    std, skew, kurtosis = found(response, dtype)
    wanted = reference.moments(np.abs(response.astype(np.complex128)))
    # |response| of 1e5 is rounded to 1e-11, which each of the two does in its own way.
    np.testing.assert_allclose(std, wanted[0], rtol=1e-11)
    np.testing.assert_allclose(skew, wanted[1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(kurtosis, wanted[2], rtol=1e-9)


@pytest.mark.parametrize("value", [0, 1, 0.1, 1 / 3 + 0.7j, 1e-30])
def test_a_flat_subband_has_none(value):
    assert not found(np.full((37, 40), value, complex)).any()


def test_a_faint_subband_has_its_own(random):
    response = random.normal(size=(34, 36)) * (1 + 1j)
    std, skew, _ = found(response)
    faint = found(response * 1e-90)
    np.testing.assert_allclose(faint[0], std * 1e-90, rtol=1e-12)
    assert np.isfinite(faint).all()
    # m4 ends at 1e-360, below what float64 can hold; skewness still has a digit or none.
    assert (np.abs(faint[1]) <= np.abs(skew).max() + 1).all() and (faint[2] <= 256).all()


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
