"""Grey of RGB."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.luma import luma
from support.mad import reference


def test_8_bits_are_rounded_half_up(random):
    rgb = random.integers(0, 256, (60, 70, 3)).astype(np.uint8)
    grey = luma(rgb)
    assert grey.dtype == np.uint8 and (grey == reference.luma(rgb)).all()
    assert luma(np.full((1, 1, 3), 255, np.uint8)) == 255


@pytest.mark.parametrize("dtype", ["uint16", "float16", "float32", "float64"])
def test_others_are_not_rounded(random, dtype):
    rgb = random.integers(0, 1024, (2, 9, 8, 3)).astype(dtype)
    grey = luma(rgb)
    assert grey.dtype == np.float64
    np.testing.assert_allclose(grey[1], reference.luma(rgb[1]), rtol=1e-15)  # the same sums
    assert (grey % 1).any()


def test_the_picture_is_left_alone(random):
    rgb = random.random((5, 6, 3))
    before = rgb.copy()
    luma(rgb)
    assert (rgb == before).all()
