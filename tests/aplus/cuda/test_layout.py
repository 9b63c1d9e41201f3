"""Rows of features: filled up to slabs, and the order in which four lanes read them."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.cuda.layout import LANE_DIMS, SLAB, by_lane, pad, padded


@pytest.mark.parametrize(
    ("dims", "wanted"), [(1, 32), (28, 32), (32, 32), (33, 64), (96, 96), (129, 160)]
)
def test_padded(dims, wanted):
    assert padded(dims) == wanted


def test_each_dimension_has_one_lane():
    assert sorted(LANE_DIMS.ravel()) == list(range(SLAB))


@pytest.mark.parametrize("slabs", [1, 2, 5])
def test_by_lane(random, slabs):
    rows = random.random((3, 2, slabs * SLAB))
    found = by_lane(rows)
    for slab in range(slabs):
        for t in range(4):
            for i in range(4):
                place, near = slab * 32 + t * 8 + i, slab * 32 + 4 * t + i
                assert (found[..., place] == rows[..., near]).all()
                assert (found[..., place + 4] == rows[..., near + 16]).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pad(random, axis):
    array = random.random((3, 4, 5)).astype(np.float16)
    found = np.moveaxis(pad(array, axis, 9), axis, 0)
    given = np.moveaxis(array, axis, 0)
    assert found.dtype == array.dtype and len(found) == 9
    assert (found[: len(given)] == given).all() and not found[len(given) :].any()


def test_pad_to_what_it_is(random):
    array = random.random((3, 4))
    assert (pad(array, 1, 4) == array).all()
