"""RGB to luma and chroma and back."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.colour import rgb, ycc


def test_primaries_are_bt601_in_full_range():
    pixels = np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]]], np.float32)
    y, cb, cr = ycc(pixels)
    # ITU-T T.871, clause 7, for white = 1; four digits are what it prints.
    np.testing.assert_allclose(y[0], [0.299, 0.587, 0.114, 1, 0], atol=1e-6)
    np.testing.assert_allclose(cb[0], [-0.1687, -0.3313, 0.5, 0, 0], atol=5e-5)
    np.testing.assert_allclose(cr[0], [0.5, -0.4187, -0.0813, 0, 0], atol=5e-5)


@pytest.mark.parametrize(
    ("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535), (np.float32, 1), (np.float64, 1)]
)
def test_there_and_back(random, dtype, white):
    pixels = (random.random((5, 7, 3)) * white).astype(dtype)
    planes = ycc(pixels)
    assert all(plane.dtype == np.float32 and plane.shape == (5, 7) for plane in planes)
    back = rgb(planes)
    assert back.dtype == np.float32 and back.shape == (5, 7, 3)
    # Three products and two sums a way, coefficients up to 1.8: about 8 units of 2⁻²⁴.
    np.testing.assert_allclose(back, pixels.astype(np.float64), rtol=0, atol=1e-6 * white)


def test_a_fourth_channel_is_left_out(random):
    pixels = random.random((3, 4, 4), np.float32)
    for a, b in zip(ycc(pixels), ycc(pixels[..., :3]), strict=True):
        assert (a == b).all()


def test_nothing_is_clipped():
    wild = np.array([[[-3.0, 5.0, 0.5]]], np.float32)
    # As above: 1e-6 of the largest value.
    np.testing.assert_allclose(rgb(ycc(wild)), wild, rtol=0, atol=5e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32, np.float64])
def test_cupy_arrays_give_the_same_bytes(cuda, random, dtype):
    """The same products and sums in the same order, each rounded."""
    pixels = (random.random((25, 37, 4)) * 200).astype(dtype)
    there = cuda.asarray(pixels)
    for a, b in zip(ycc(there), ycc(pixels), strict=True):
        assert isinstance(a, cuda.ndarray) and a.get().tobytes() == b.tobytes()
    back = rgb(ycc(there))
    assert isinstance(back, cuda.ndarray) and (back.get() == rgb(ycc(pixels))).all()
