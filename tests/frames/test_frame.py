"""Formats: shapes of the planes, types, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import CENTRE, Format


@pytest.mark.parametrize(
    ("subsampling", "chroma"),
    [((1, 1), (3, 4)), ((1, 0), (5, 4)), ((0, 0), (5, 7)), ((0, 1), (3, 7)), ((2, 0), (5, 2))],
)
def test_chroma_is_rounded_up(subsampling, chroma):
    assert Format(7, 5, 8, subsampling).shapes == ((5, 7), chroma, chroma)
    assert Format(7, 5).shapes == ((5, 7),)


def test_types():
    assert Format(1, 1, 8).dtype == np.uint8
    assert {Format(1, 1, bits).dtype for bits in range(9, 17)} == {np.dtype(np.uint16)}
    assert Format(1, 1, 0).dtype == np.float32


def test_scaled_keeps_the_rest():
    before = Format(7, 5, 8, (1, 1), CENTRE, full_range=True)
    assert before.scaled(3) == Format(21, 15, 8, (1, 1), CENTRE, full_range=True)
    assert before.scaled(2, 10) == Format(14, 10, 10, (1, 1), CENTRE, full_range=True)
    assert before.scaled(2, 0).bits == 0


@pytest.mark.parametrize(("width", "height"), [(0, 4), (4, 0), (-1, 3)])
def test_no_empty_picture(width, height):
    with pytest.raises(InputError, match="1×1"):
        Format(width, height)


@pytest.mark.parametrize("bits", [1, 7, 17, 32, -8])
def test_no_odd_depth(bits):
    with pytest.raises(InputError, match="8 to 16"):
        Format(4, 4, bits)
