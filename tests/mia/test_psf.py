"""PSFs: their sizes, what a user may give, to the period and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from snellen.errors import InputError
from snellen.mia import psf
from support.mia import reference

PERIODS = [(32, 32), (32, 64), (45, 61)]


def test_sides_are_odd():
    assert [psf.side(size) for size in (1, 2, 3, 30, 31, np.int64(32))] == [1, 3, 3, 31, 31, 33]


@pytest.mark.parametrize("size", [0, -3, 31.0, "31", None, True])
def test_no_side(size):
    with pytest.raises(InputError, match=r"psf_size=.*; expected a whole number"):
        psf.side(size)


def test_a_psf_is_no_larger_than_the_picture():
    psf.fits(31, (31, 90))
    with pytest.raises(InputError, match="got a PSF of 33×33 for a picture of 90×32"):
        psf.fits(33, (32, 90))


@pytest.mark.parametrize("side", [1, 3, 31])
@pytest.mark.parametrize("sigma", [0.3, 2, np.float32(5)])
def test_gaussian(sigma, side):
    plane = psf.gaussian(sigma, side)
    np.testing.assert_allclose(plane, reference.bell(float(sigma), side), rtol=1e-12)


def test_a_very_narrow_gaussian_is_a_point():
    plane = psf.gaussian(1e-200, 3)
    assert plane[1, 1] == plane.sum() == 1


@pytest.mark.parametrize("sigma", [0, -1.0, float("nan"), float("inf"), "2", True, None])
def test_no_gaussian(sigma):
    with pytest.raises(InputError, match=r"start=.*; expected σ in pixels"):
        psf.gaussian(sigma, 31)


@pytest.mark.parametrize("shape", [(9, 9), (8, 8), (7, 4), (2, 5), (1, 1), (1, 6)])
def test_a_given_psf_keeps_its_middle(random, shape):
    """At n // 2; a zero row or column at the end makes a side odd."""
    plane = random.random(shape)
    out = psf.given(plane)
    side = max(n + 1 - n % 2 for n in shape)
    assert out.shape == (side, side) and out.dtype == "float64"
    wanted = np.zeros((side, side))
    for i, j in np.ndindex(shape):
        wanted[i - shape[0] // 2 + side // 2, j - shape[1] // 2 + side // 2] = plane[i, j]
    np.testing.assert_allclose(out, wanted / plane.sum(), rtol=1e-14)


def test_an_even_psf_blurs_as_scipy_says(random):
    """Convolution(image, psf) is SciPy's with an even PSF too: its middle is at side // 2."""
    plane, kernel = random.random((20, 31)), random.random((4, 6))
    h = psf.to_period(psf.given(kernel), plane.shape)
    wanted = ndimage.convolve(plane, kernel / kernel.sum(), mode="wrap")
    np.testing.assert_allclose(reference.convolved(plane, h), wanted, atol=1e-12)


def test_given_kinds(random):
    counts = random.integers(0, 200, (3, 5, 5)).astype(np.uint8)
    out = psf.given(counts)
    assert out.shape == (3, 5, 5)
    np.testing.assert_allclose(out.sum((1, 2)), 1)
    np.testing.assert_allclose(psf.given(counts.tolist()), out)
    assert psf.given(np.eye(3, dtype=bool))[1, 1] == 1 / 3


@pytest.mark.cases
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones(5), r"psf has shape \(5,\) and dtype float64"),
        (np.ones((0, 5)), r"psf has shape \(0, 5\)"),
        (np.ones((3, 3), complex), "dtype complex128"),
        ("blurred", "psf has shape"),
        (np.full((3, 3), np.nan), "psf has values that are negative, NaN or infinite"),
        (np.full((3, 3), np.inf), "negative, NaN or infinite"),
        (np.diag([1.0, -1e-9, 1]), "negative, NaN or infinite"),
        (np.zeros((3, 3)), "psf is 0 everywhere"),
        (np.full((3, 3), 1e308), "sum of psf is beyond float64"),
        (np.stack([np.eye(3), np.zeros((3, 3))]), "psf is 0 everywhere"),
    ],
)
def test_refusals(value, words):
    with pytest.raises(InputError, match=words):
        psf.given(value)
    with pytest.raises(InputError, match=words.replace("psf", "start")):
        psf.given(value, "start")


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("side", [1, 3, 9, 31])
def test_to_the_period_and_back(random, period, side):
    planes = random.random((2, 3, side, side)).astype(np.float32)
    h = psf.to_period(planes, period)
    assert h.dtype == "float32"
    for b, m in np.ndindex(2, 3):
        assert (h[b, m] == reference.on_period(planes[b, m], period)).all()
    back = psf.from_period(h, side)
    assert (back == planes).all() and back.flags.c_contiguous
    assert (psf.from_period(h, 1)[..., 0, 0] == planes[..., side // 2, side // 2]).all()
