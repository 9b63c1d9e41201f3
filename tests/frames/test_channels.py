"""channel_axis: which axis of an array holds channels."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.axes import Axes
from snellen.frames.channels import Channels

SIZE = (5, 7)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("batch", [(), (2,), (2, 6)])
@pytest.mark.parametrize("axis", range(-3, 0))
@pytest.mark.parametrize("negative", [True, False])
def test_channels_go_to_the_end_and_come_back(random, channels, batch, axis, negative):
    plain = random.random((*batch, *SIZE, channels))
    array = np.moveaxis(plain, -1, axis)
    stated = axis if negative else axis + array.ndim
    where = Channels.of(array.shape, stated, (3, 4))
    last = where.last(array)
    axes = Axes.of(last.shape, where.lengths)
    assert axes == Axes(batch, (), SIZE, () if channels == 1 else (channels,))
    assert (last == (plain[..., 0] if channels == 1 else plain)).all()
    assert (where.back(last) == array).all() and where.back(last).shape == array.shape
    assert where.batched(array.shape) == bool(batch)


def test_without_the_axis_of_frames(random):
    """A result of several frames of one object has one axis less."""
    frames = random.random((3, 6, *SIZE))
    where = Channels.of(frames.shape, 0)
    assert where.last(frames).shape == (6, *SIZE, 3)
    assert where.back(where.last(frames)[0]).shape == (3, *SIZE)


@pytest.mark.parametrize(
    ("shape", "axis", "batched", "channels"),
    [
        ((5, 7), "auto", False, ()),
        ((5, 1), "auto", False, ()),
        ((5, 7, 3), "auto", False, (3,)),
        ((2, 5, 7), "auto", True, ()),
        ((0, 5, 7), "auto", True, ()),
        ((5, 7, 3), None, True, ()),
        ((5, 7, 1), None, True, ()),
        ((5, 7), None, False, ()),
    ],
)
def test_arrays_that_stay_as_they_are(shape, axis, batched, channels):
    where, array = Channels.of(shape, axis), np.zeros(shape)
    assert where.last(array) is array and where.back(array) is array
    assert Axes.of(shape, where.lengths).channels == channels
    assert where.batched(shape) == batched


class Text(str):
    def __eq__(self, other):
        raise ValueError("not comparable")

    __hash__ = str.__hash__


@pytest.mark.cases(10)
@pytest.mark.parametrize(
    ("shape", "axis", "how", "words"),
    [
        ((5, 7, 1), "auto", {}, r"like 1 channel; .*state channel_axis=-1, or channel_axis=None"),
        ((2, 5, 7, 2), "auto", {}, r"like 2 channels; .*image\[..., 0\].*of 2 columns"),
        ((5, 7, 4), "auto", {"alpha": False}, r"like 4 channels; .*image\[..., :3\]"),
        ((5, 7, 2), -1, {}, r"which has 2 channels; expected 1 or 3"),
        ((5, 7, 3), 0, {"lengths": (3, 4)}, r"channel_axis=-3 .* 5 channels; expected 1 or 3 or 4"),
        ((5, 7, 3), 3, {}, "expected one of three or more axes"),
        ((5, 7, 3), -4, {}, "expected one of three or more axes"),
        ((5, 3), -1, {}, "expected one of three or more axes"),
        ((5, 7, 3), "last", {}, "channel_axis='last'"),
        ((5, 7, 3), Text("last"), {}, "channel_axis="),
        ((5, 7, 3), np.zeros(2), {}, "channel_axis="),
        ((5, 7, 3), True, {}, "channel_axis=True"),
        ((5, 7, 3), 2.0, {}, "channel_axis=2.0"),
    ],
)
def test_what_is_refused(shape, axis, how, words):
    with pytest.raises(InputError, match=words) as caught:
        Channels.of(shape, axis, **how)
    assert caught.value.parameter == "channel_axis"
