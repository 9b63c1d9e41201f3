"""Axes of arrays of pictures: batches, frames, channels, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.axes import Axes, check_dtype, check_finite


@pytest.mark.parametrize(
    ("shape", "how", "wanted"),
    [
        ((5, 7), {}, Axes((), (), (5, 7), ())),
        ((5, 3), {}, Axes((), (), (5, 3), ())),
        ((5, 7, 3), {}, Axes((), (), (5, 7), (3,))),
        ((5, 7, 4), {}, Axes((5,), (), (7, 4), ())),
        ((5, 7, 4), {"channels": (3, 4)}, Axes((), (), (5, 7), (4,))),
        ((2, 6, 5, 7, 3), {}, Axes((2, 6), (), (5, 7), (3,))),
        ((0, 5, 7), {}, Axes((0,), (), (5, 7), ())),
        ((6, 5, 7), {"frames": True}, Axes((), (6,), (5, 7), ())),
        ((6, 5, 7, 3), {"frames": True}, Axes((), (6,), (5, 7), (3,))),
        ((5, 7, 2), {"least": 2}, Axes((5,), (), (7, 2), ())),
        ((5, 7, 3), {"channels": ()}, Axes((5,), (), (7, 3), ())),
    ],
)
def test_axes_of_a_shape(shape, how, wanted):
    axes = Axes.of(shape, **how)
    assert axes == wanted and axes.shape == shape


@pytest.mark.parametrize(
    ("shape", "how", "words"),
    [
        (
            (),
            {},
            r"got an array of shape \(\); expected \(…, H, W\) or \(…, H, W, 3\), with",
        ),
        ((5,), {"channels": (3, 4)}, r"expected \(…, H, W\) or \(…, H, W, 3 or 4\)"),
        ((0, 5), {}, "at least one pixel"),
        ((5, 0, 3), {}, "at least one pixel"),
        ((33, 40), {"least": 34}, "at least 34×34 pixels"),
        ((5, 7), {"frames": True}, r"expected \(M, H, W\) or \(M, H, W, 3\)"),
        ((5, 7, 3), {"frames": True}, r"expected \(M, H, W\)"),
        ((0, 5, 7), {"frames": True}, r"expected \(M, H, W\)"),
        ((2, 6, 5, 7), {"frames": True}, r"expected \(M, H, W\)"),
        ((5, 0, 3), {"channels": ()}, r"expected \(…, H, W\), with at least one pixel"),
    ],
)
def test_shapes_that_are_refused(shape, how, words):
    with pytest.raises(InputError, match=words):
        Axes.of(shape, **how)


@pytest.mark.parametrize("how", [{}, {"frames": True}])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_planes_and_back(random, how, channels):
    array = random.random((6, 5, 7, *channels))
    axes = Axes.of(array.shape, **how)
    planes = axes.planes(array)
    assert planes.shape == (channels[0] if channels else 1, *((1, 6) if how else (6, 1)), 5, 7)
    assert (axes.image(planes[:, :, 0]) == (array[0] if how else array)).all()
    assert axes.pictures(array).shape == array.shape


def test_types_and_numbers():
    check_dtype(np.dtype("float16"))
    with pytest.raises(
        InputError, match=r"got dtype bool; expected one of uint8, .* image\.astype"
    ):
        check_dtype(np.dtype(bool))
    check_finite(np.zeros((2, 3), np.uint8))
    for value in (np.nan, np.inf):
        with pytest.raises(InputError, match="a picture holds NaN or infinity"):
            check_finite(np.array([[0.5, value]]))
