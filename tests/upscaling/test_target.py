"""Sizes that users ask for: which magnifications reach them, and what is left to a filter."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.errors import InputError
from snellen.upscaling.target import LARGEST, geometry, target

EVEN = (2, 2)


def sizes(width, height, *, size=None, rows=None, scale=None, fit=None, **how):
    return geometry(target(scale, size, rows, fit), width, height, **{"unit": EVEN, **how})


@pytest.mark.parametrize(
    ("source", "size", "scales", "result"),
    [
        ((1920, 1080), "4k", (2,), (3840, 2160)),
        ((1920, 800), "4k", (2,), (3840, 1600)),
        ((1280, 720), "1440p", (2,), (2560, 1440)),
        ((1280, 720), "1080p", (2,), (1920, 1080)),
        ((1280, 720), "4K", (3,), (3840, 2160)),
        ((640, 480), "2160p", (2, 3), (2880, 2160)),
        ((640, 480), "1000x1000", (2,), (1000, 750)),
        ((480, 360), "8k", (3, 4), (5760, 4320)),
        ((320, 180), "4k", (3, 4), (3840, 2160)),
        ((480, 272), "1920×1080", (4,), (1906, 1080)),
    ],
)
def test_the_smallest_magnification_that_reaches_a_size(source, size, scales, result):
    found = sizes(*source, size=size)
    assert (found.scales, (found.width, found.height)) == (scales, result)
    assert found.inner == result
    assert found.part == (1, 1)
    assert found.plain == (result == tuple(side * prod(scales) for side in source))


def test_a_rounded_size_needs_no_larger_magnification():
    """1919×1081 doubled and made even is 3838×2162: hardly more than twice as high."""
    assert sizes(1919, 1080, rows=2162).scales == (2,)


@pytest.mark.parametrize(
    ("scale", "scales", "result", "plain"),
    [
        (2, (2,), (202, 150), True),
        (3.0, (3,), (303, 225), True),
        (1.5, (2,), (152, 112), False),
        (2.5, (3,), (252, 188), False),
        (6, (2, 3), (606, 450), True),
        (5.3, (2, 3), (536, 398), False),
        (16, (4, 4), (1616, 1200), True),
    ],
)
def test_magnifications(scale, scales, result, plain):
    found = sizes(101, 75, scale=scale)
    assert (found.scales, (found.width, found.height), found.plain) == (scales, result, plain)
    assert not found.square


def test_rows_that_are_asked_for():
    found = sizes(720, 576, rows=1080, pixel=Fraction(16, 15))
    assert (found.width, found.height, found.scales, found.square) == (1440, 1080, (2,), True)
    turned = sizes(1280, 720, rows=1920, turned=True)
    assert (turned.width, turned.height) == (1920, 1080)  # shown as 1080×1920


def test_a_size_of_pictures_that_are_shown_turned():
    found = sizes(1280, 720, size="1440x2560", turned=True)
    assert (found.width, found.height, found.scales) == (2560, 1440, (2,))


def test_pixels_become_square():
    found = sizes(720, 576, size="1080p", pixel=Fraction(64, 45))
    assert (found.width, found.height, found.square) == (1920, 1080, True)
    assert found.scales == (3,)  # 2.67 times as wide


@pytest.mark.parametrize(
    ("fit", "inner", "part"),
    [
        ("pad", (1440, 1080), (1, 1)),
        ("crop", (1920, 1080), (1, Fraction(3, 4))),
        ("stretch", (1920, 1080), (1, 1)),
    ],
)
def test_a_picture_of_another_shape(fit, inner, part):
    found = sizes(640, 480, size="1080p", fit=fit)
    assert (found.width, found.height) == (1920, 1080)
    assert (found.inner, found.part) == (inner, part)


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"size": "big"}, "size"),
        ({"size": "0x100"}, "size"),
        ({"size": "99999x100"}, "size"),
        ({"size": 4}, "size"),
        ({"size": "640x360"}, "size"),  # as it is
        ({"size": "320x200"}, "size"),
        ({"size": "60000x60000"}, "size"),  # beyond 16 times
        ({"size": "4k", "rows": 2160}, "height"),
        ({"size": "4k", "scale": 3}, "scale"),
        ({"size": "4k", "scale": 2}, "scale"),
        ({"size": "4k", "fit": "inside"}, "fit"),
        ({"fit": "pad"}, "fit"),
        ({"rows": 0}, "height"),
        ({"rows": 1.5}, "height"),
        ({"rows": 360}, "height"),
        ({"scale": 1}, "scale"),
        ({"scale": 16.5}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"scale": "2"}, "scale"),
        ({"scale": True}, "scale"),
    ],
)
def test_what_cannot_be_made(settings, parameter):
    with pytest.raises(InputError) as caught:
        sizes(640, 360, **settings)
    assert caught.value.parameter == parameter


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("source", "settings", "said"),
    [
        ((64, 48), {"size": "4k"}, "size=3840x2160 makes 2880×2160 of a picture of 64×48; expected "
         "at most 1024×768: 16 times as large"),
        ((64, 48), {"rows": 2000}, "height=2000 makes 2666×2000 .* at most 1022×768: 16 times"),
        ((5000, 100), {"scale": 15.0}, "scale=15 makes 75000×1500 .* at most 65534×1310: 16 times"),
        ((50, 40), {"scale": 1.0001}, "scale=1.0001 makes 50×40 of a picture of 50×40; expected a "
         "larger one"),
        ((300, 200), {"scale": 9.5, "scales": (3,)}, "at most 2700×1800: 9 times as large"),
        ((128, 72), {"rows": 101, "turned": True}, "makes 56×101 of a picture of 72×128"),
        ((128, 72), {"rows": 3000, "turned": True}, "1688×3000 .* expected at most 1152×2046"),
        ((300, 200), {"scale": 0.0}, "got scale=0.0; expected"),
    ],
    ids=str,
)  # fmt: skip
def test_errors_say_what_was_typed_and_what_would_do(source, settings, said):
    with pytest.raises(InputError, match=said):
        sizes(*source, **settings)


def test_a_model_of_one_magnification_makes_all_sizes():
    """By itself, or twice; and a filter."""
    for scale, wanted in ((1.5, (3,)), (2.5, (3,)), (4.5, (3, 3)), (9, (3, 3))):
        assert sizes(100, 50, scale=scale, scales=(3,)).scales == wanted


@given(
    width=st.integers(2, 8000), height=st.integers(2, 8000),
    box=st.tuples(*[st.integers(2, 20000)] * 2),
    fit=st.sampled_from([None, "pad", "crop", "stretch"]),
    pixel=st.fractions(Fraction(1, 4), 4, max_denominator=100), turned=st.booleans(),
)  # fmt: skip
def test_any_size(width, height, box, fit, pixel, turned):
    wanted = target(None, f"{box[0]}x{box[1]}", None, fit)
    try:
        found = geometry(wanted, width, height, pixel=pixel, turned=turned, unit=EVEN)
    except InputError:
        return
    asked = (box[1], box[0]) if turned else box
    result, inner = (found.width, found.height), found.inner
    for side in (0, 1):
        assert 0 < inner[side] <= result[side] <= max(asked[side], 2) <= LARGEST
        assert 0 < found.part[side] <= 1
        enlarged = (width, height)[side] * prod(found.scales) * found.part[side]
        assert inner[side] * Fraction(99, 100) <= enlarged
    assert not fit or result == asked
