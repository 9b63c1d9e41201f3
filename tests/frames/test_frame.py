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


def test_white_belongs_to_a_depth():
    before = Format(7, 5, 10, white=940)
    assert before.scaled(2).white == before.scaled(2, 10).white == 940
    assert before.scaled(2, 8).white is None


@pytest.mark.parametrize("white", [0, -1.0, float("nan"), float("inf")])
def test_no_white_that_is_no_positive_number(white):
    with pytest.raises(InputError, match="expected a positive number") as caught:
        Format(4, 4, white=white)
    assert caught.value.parameter == "white"


@pytest.mark.cases
@pytest.mark.parametrize("subsampling", ["420", (1,), (-1, 0), (0.5, 1), 1])
def test_no_odd_subsampling(subsampling):
    with pytest.raises(InputError, match=r"as \(1, 1\) of 4:2:0") as caught:
        Format(4, 4, subsampling=subsampling)
    assert caught.value.parameter == "subsampling"


@pytest.mark.parametrize(("width", "height"), [(0, 4), (4, 0), (-1, 3)])
def test_no_empty_picture(width, height):
    with pytest.raises(InputError, match=r"(width|height)=.*whole number, 1 or more"):
        Format(width, height)


@pytest.mark.parametrize("bits", [1, 7, 17, 32, -8])
def test_no_odd_depth(bits):
    with pytest.raises(InputError, match="8 to 16"):
        Format(4, 4, bits)
