"""Which MAD: settings, the block grid, the value of white."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.mad.definition import SMALLEST, Definition, grid, peak
from support.mad import reference


def test_the_default_is_2011():
    assert Definition() == Definition("2011", 200.0, False)


@pytest.mark.parametrize("hi_scale", [200, 10.0, 1, np.float32(3)])
def test_settings_travel(hi_scale):
    one = Definition("paper", hi_scale, True)
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variant": "2010"}, "variant='2010'; expected one of 2011, paper"),
        ({"variant": None}, "variant=None"),
        ({"hi_scale": 0}, "hi_scale=0; expected a number above 0"),
        ({"hi_scale": -200}, "hi_scale=-200"),
        ({"hi_scale": float("nan")}, "hi_scale=nan"),
        ({"hi_scale": float("inf")}, "hi_scale=inf"),
        ({"hi_scale": "200"}, "hi_scale='200'"),
        ({"hi_scale": True}, "hi_scale=True"),
        ({"eight_bit_lut": 1}, "eight_bit_lut=1; expected True or False"),
    ],
)
def test_refusals(settings, words):
    with pytest.raises(InputError, match=words):
        Definition(**settings)


@pytest.mark.parametrize("height", range(34, 60))
def test_the_grid(height):
    plane = np.zeros((height, 41))
    assert grid(height, 41) == reference.blocks(plane).shape[:2]
    assert grid(height, 41) == (-(-(height - 15) // 4), -(-(41 - 15) // 4))


def test_the_smallest_picture_has_one_pixel_to_pool():
    plane = np.zeros((SMALLEST, SMALLEST))
    plane[16, 16] = 3
    assert SMALLEST == 34 and reference.pooled(plane) == 3


def test_white():
    assert [peak(None, bits) for bits in (8, 10, 16)] == [255, 1023, 65535]
    assert peak(940, 10) == 940 and peak(np.float32(1), 0) == 1


@pytest.mark.parametrize("data_range", [0, -1, float("nan"), float("inf"), "255", True])
def test_no_white(data_range):
    with pytest.raises(InputError, match=r"data_range=.*; expected the value of white"):
        peak(data_range, 8)
    with pytest.raises(InputError, match="float samples without data_range; state"):
        peak(None, 0)
