"""Flat pictures come out of a network as they are."""

from __future__ import annotations

import numpy as np
import pytest

import snellen
from snellen.cnn.model import read
from snellen.upscaling import shipped
from snellen_lab.cnn.level import ENOUGH, added, levelled
from support.cnn import reference

NAMES = sorted(name for name in shipped.files() if name.startswith("cnn"))


CODES = (0, 16, 128, 235, 255)


@pytest.fixture
def drawn(random):
    return reference.gentle(random, 3, 2, 8)


def test_what_is_added_is_that_of_the_reference(drawn):
    found = added(drawn)
    for code in CODES:
        wanted = reference.residual(np.full((1, 1), code, np.float32), drawn).ravel()
        np.testing.assert_allclose(found[code], wanted, rtol=0, atol=1e-9)


def test_levelled_networks_add_nothing(drawn):
    after = levelled(drawn)
    assert np.abs(added(drawn)).max() > 1 and np.abs(added(after)).max() <= ENOUGH
    assert "levelled" in after.about and levelled(after) is after
    np.testing.assert_array_equal(drawn.body_weight, after.body_weight)


@pytest.mark.parametrize("name", NAMES)
def test_networks_of_the_package_keep_flat_pictures(name):
    assert np.abs(added(read(shipped.files()[name]))).max() <= ENOUGH


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_flat_pictures_come_out_as_they_are(name):
    scale = int(name[-1])
    for code in CODES:
        flat = np.full((9, 11), code, np.uint8)
        large = snellen.upscale(flat, scale, model=name, device="cpu")
        assert large.shape == (9 * scale, 11 * scale) and (large == code).all()
