"""Arrays (3, H, W) of which nothing says where their channels are: every function warns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import snellen
from snellen.errors import InputError
from snellen.frames.channels import Channels


def said(call) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [one for one in caught if "channel_axis" in str(one.message)]


@pytest.mark.parametrize("shape", [(3, 24, 32), (5, 3, 24, 32), (3, 24, 4)])
def test_what_looks_like_channels_first_is_said(shape):
    (warning,) = said(lambda: Channels.of(shape, "auto"))
    assert str(shape) in str(warning.message) and "channel_axis=-3" in str(warning.message)


@pytest.mark.parametrize(
    ("shape", "axis", "frames"),
    [
        ((10, 24, 32), "auto", False),
        ((24, 32), "auto", False),
        ((24, 32, 3), "auto", False),
        ((3, 24, 3), "auto", False),  # channels last, as for every other height
        ((3, 24, 32, 3), "auto", False),
        ((3, 4, 24, 32), "auto", False),
        ((3, 24, 32), None, False),
        ((3, 24, 32), 0, False),
        ((3, 24, 32), "auto", True),  # three frames of one object, as the caller says
    ],
)
def test_what_is_stated_or_looks_otherwise_goes_on_without_a_word(shape, axis, frames):
    assert not said(lambda: Channels.of(shape, axis, frames=frames))


@pytest.mark.parametrize("axis", ["auto", None, 0])
def test_every_function_warns_at_the_callers_line(random, axis):
    array = random.integers(0, 256, (3, 40, 48), dtype=np.uint8)
    calls = (
        lambda: snellen.upscale(array, method="cnn-fast", channel_axis=axis, device="cpu"),
        lambda: snellen.score(array, array[:, ::-1], channel_axis=axis, device="cpu"),
        lambda: snellen.deblur(array, psf_size=5, iterations=1, channel_axis=axis, device="cpu"),
    )
    for call in calls:
        found = said(call)
        assert bool(found) == (axis == "auto")
        assert all(one.filename == __file__ for one in found)


def test_frames_of_one_object_are_stated(random):
    array = random.random((3, 24, 32), dtype=np.float32)
    assert not said(
        lambda: snellen.deblur(array, psf_size=5, iterations=1, multiframe=True, device="cpu")
    )


def test_a_warning_that_is_made_an_error_reaches_the_caller():
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="channel_axis"):
        warnings.simplefilter("error")
        Channels.of((3, 24, 32), "auto")
    with pytest.raises(InputError):
        Channels.of((3, 24, 2), "auto")  # a last axis of 2 is refused as before


def test_modules_of_pytorch_state_their_axes(random):
    torch = pytest.importorskip("torch")
    from snellen.torch import MAD, Upscale

    grey = torch.from_numpy(random.random((3, 1, 40, 48), dtype=np.float32))
    assert not said(lambda: Upscale(method="cnn-fast")(grey))
    assert not said(lambda: MAD()(grey, grey))
