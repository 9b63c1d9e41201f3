"""What `upscale`, `deblur` and `score` have in common: the range of samples, and channels."""

from __future__ import annotations

import numpy as np
import pytest

import snellen
from snellen.errors import InputError

BLUR = np.ones((1, 1))


def upscaled(image, **how):
    return snellen.upscale(image, device="cpu", **how)


def deblurred(image, **how):
    return snellen.deblur(image, BLUR, iterations=1, device="cpu", **how).image


def scored(image, **how):
    other = image.copy()
    other[other > other.mean()] //= 2 if image.dtype.kind == "u" else other.dtype.type(2)
    return np.array(snellen.score(image, other, device="cpu", **how).mad)


METHODS = [upscaled, deblurred, scored]
pytestmark = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def rgb(random):
    """(H, W, 3) uint8."""
    return random.integers(0, 256, (36, 38, 3)).astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "white"), [("uint8", 255), ("uint16", 65535), ("float32", 1)])
def test_the_default_range(method, rgb, dtype, white):
    image = (rgb[..., 0] * (white / 255)).astype(dtype)
    assert (method(image) == method(image, data_range=white)).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_of_another_range_are_refused(method, rgb, dtype):
    image = rgb[..., 0].astype(dtype)
    words = "got samples from 0 to 255; expected 0 to 1; state another data_range, or clip"
    with pytest.raises(InputError, match=words) as caught:
        method(image)
    assert caught.value.parameter == "data_range"
    method(image, data_range=255)


@pytest.mark.parametrize("value", [0, -1, "255", True, np.nan, np.inf, [255]])
def test_no_range(method, rgb, value):
    with pytest.raises(InputError, match=r"^data_range=.*; expected the value of white, as 1, 255"):
        method(rgb, data_range=value)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_channels_anywhere(method, rgb, axis):
    wanted = method(rgb)
    found = method(np.moveaxis(rgb, -1, axis), channel_axis=axis)
    assert (found == (np.moveaxis(wanted, -1, axis) if wanted.ndim else wanted)).all()


def test_one_channel(method, rgb):
    grey = rgb[..., 0]
    found, wanted = method(grey[None], channel_axis=0), method(grey)
    assert (found == (wanted[None] if wanted.ndim else wanted)).all()


@pytest.mark.parametrize("channels", [1, 2])
def test_a_short_last_axis_is_not_guessed(method, rgb, channels):
    with pytest.raises(InputError, match=f"looks like {channels} channel.*channel_axis=None"):
        method(rgb[..., :channels])


def test_no_channels(method, random):
    """Three columns, which would be colours."""
    image = random.integers(0, 256, (2, 40, 3)).astype(np.uint8)
    if method is scored:
        with pytest.raises(InputError, match="at least 34"):
            method(image, channel_axis=None)
        return
    found = method(image, channel_axis=None)
    assert (found[1] == method(image[1])).all()
