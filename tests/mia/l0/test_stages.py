"""prior="l0", stage by stage, against dense matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from snellen.mia.l0 import gradients, latent, leastsquares, pyramid
from snellen.mia.l0.transform import Transform
from snellen.mia.psf import to_period
from support.mia import drawn, reference

PERIODS = [(8, 6), (7, 9), (9, 8)]


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request):
    """The library of arrays."""
    if request.param == "cupy":
        return request.getfixturevalue("cuda")
    return np


def host(array):
    return array if isinstance(array, np.ndarray) else array.get()


def matrix(operator, period):
    """An operator on planes as a matrix, by its columns."""
    units = np.eye(period[0] * period[1]).reshape(-1, *period)
    return np.stack([host(operator(unit)).ravel() for unit in units], 1)


def across(plane):
    return np.roll(plane, -1, 1) - plane


def down(plane):
    return np.roll(plane, -1, 0) - plane


# Transforms


@pytest.mark.parametrize("period", [(8, 6), (7, 9), (31, 17), (300, 509)])
def test_there_and_back(random, xp, period):
    plane = random.normal(size=period)
    transform = Transform(period, xp.empty(0))
    spectrum = transform.forward(xp.asarray(plane))
    # Two FFTs of float64 on values of 1.
    np.testing.assert_allclose(host(spectrum), np.fft.rfft2(plane), atol=1e-9)
    np.testing.assert_allclose(host(transform.inverse(spectrum)), plane, atol=1e-13)


# Pyramid


def test_levels():
    found = pyramid.levels((255, 255), 31)
    assert [one.side for one in found] == [5, 7, 9, 11, 17, 23, 31]
    assert [one.shape[0] for one in found] == [32, 46, 64, 91, 128, 181, 255]
    for side in range(1, 200, 2):
        for shape in ((side, side + 3), (900, 901)):
            found = pyramid.levels(shape, side)
            assert found[-1] == (shape, side)
            assert all(one.side <= min(one.shape) and one.side % 2 for one in found)
            assert all(one.side < other.side for one, other in pairwise(found))


@pytest.mark.parametrize("side", [5, 7, 9, 11, 17, 31])
def test_no_psf_is_lost_between_levels(side):
    """Not even one in the corner of its support."""
    corner = [np.zeros((one.side, one.side)) for one in pyramid.levels((400, 400), side)]
    for psf, larger in pairwise(corner):
        psf[0, -1] = 1
        found = pyramid.grow(psf, len(larger))
        assert found.sum() == pytest.approx(1) and found[:3, -3:].sum() > 0.9


@pytest.mark.parametrize("shape", [(20, 30), (13, 31), (40, 5), (1, 1)])
def test_a_slope_stays_a_slope(xp, shape):
    plane = np.add.outer(np.arange(40.0), 3 * np.arange(31.0))
    found = host(pyramid.shrink(xp.asarray(plane), shape))
    rows, columns = (
        (np.arange(less) + 0.5) * size / less - 0.5
        for size, less in zip(plane.shape, shape, strict=True)
    )
    wanted = np.add.outer(rows, 3 * columns)
    inner = tuple(slice(2, -2) if size > 4 else slice(None) for size in shape)
    if min(shape) > 1:
        # Sums of 7 triangles at most; the weights of a triangle differ between samples.
        np.testing.assert_allclose(found[inner], wanted[inner], atol=0.35)
    assert found.shape == shape and found.min() >= 0 and found.max() <= plane.max()


def test_a_picture_of_one_value_stays_so():
    np.testing.assert_allclose(pyramid.shrink(np.full((40, 31), 0.7), (29, 22)), 0.7, rtol=1e-14)


def test_a_picture_at_its_size_stays_the_same(random):
    plane = random.random((20, 30))
    assert pyramid.shrink(plane, (20, 30)) is plane


def test_a_psf_grows_about_its_middle():
    found = pyramid.grow(reference.bell(1.5, 11), 17)
    assert found.shape == (17, 17) and found.min() >= 0 and found.sum() == pytest.approx(1)
    # Cubic interpolation of a Gaussian that is 1.5 samples wide; √2 as wide.
    np.testing.assert_allclose(found, reference.bell(1.5 * 2**0.5, 17), atol=0.001)
    np.testing.assert_allclose(found, found[::-1].T, atol=1e-15)


# Gradients


@pytest.mark.parametrize("period", PERIODS)
def test_differences_and_their_adjoint(xp, period):
    to_library = xp.asarray
    ahead, below = (
        matrix(lambda plane, i=i: gradients.differences(to_library(plane))[i], period)
        for i in (0, 1)
    )
    np.testing.assert_array_equal(ahead, matrix(across, period))
    np.testing.assert_array_equal(below, matrix(down, period))
    zero = np.zeros(period)
    back = [
        matrix(lambda plane: gradients.divergence(to_library(plane), to_library(zero)), period),
        matrix(lambda plane: gradients.divergence(to_library(zero), to_library(plane)), period),
    ]
    np.testing.assert_array_equal(back, [ahead.T, below.T])
    by_row, by_column = map(host, gradients.laplacian(period, xp.empty(0)))
    spectrum = np.add.outer(by_row, by_column)
    kernel = np.fft.irfft2(spectrum, period)
    normal = ahead.T @ ahead + below.T @ below
    np.testing.assert_allclose(normal[:, 0].reshape(period), kernel, atol=1e-14)


def test_the_strongest_of_each_direction(random, xp):
    """Edges across are ten times as strong, but a twentieth of each direction stays."""
    plane = random.random((40, 41)).cumsum(0) + 10 * random.random((40, 41)).cumsum(1)
    for found, whole in zip(
        gradients.strongest(xp.asarray(plane)), (across(plane), down(plane)), strict=True
    ):
        strong = host(found) != 0
        assert np.count_nonzero(strong) == 82  # of 1640
        np.testing.assert_array_equal(host(found)[strong], whole[strong])
        assert np.abs(whole[strong]).min() >= np.abs(whole[~strong]).max()


# Latent picture


def dense_latent(y, blur, weight):
    """The same by dense matrices."""
    period, size = y.shape, y.size
    h = matrix(lambda plane: reference.convolved(plane, blur), period)
    gradient = np.concatenate([matrix(across, period), matrix(down, period)])
    f, beta = y.ravel(), 2 * weight
    while beta < 1e5:
        g = (gradient @ f).reshape(2, size)
        g = (g * ((g**2).sum(0) >= weight / beta)).ravel()
        left = h.T @ h + beta * gradient.T @ gradient
        f = np.linalg.solve(left, h.T @ y.ravel() + beta * gradient.T @ g)
        beta *= 2
    return f.reshape(period)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("weight", [1e-4, 4e-3])
def test_latent(random, xp, period, weight):
    blur = reference.on_period(drawn.walk(random, 5), period)
    y = reference.convolved(drawn.scene(random, period), blur)
    transform = Transform(period, xp.empty(0))
    there, spectrum = xp.asarray(y), transform.forward(xp.asarray(y))
    found = latent.latent(
        there, spectrum, transform.forward(xp.asarray(blur)), weight,
        gradients.laplacian(period, there), transform,
    )  # fmt: skip
    # In float64, β up to 1e5 against 1 costs the dense solution five digits.
    np.testing.assert_allclose(host(found), dense_latent(y, blur, weight), atol=1e-9)
    np.testing.assert_array_equal(host(there), y)


def test_little_gradients_vanish():
    """Small waves and one large step: only the step is left, and the one back across the edge."""
    y = np.zeros((16, 16))
    y[:, 8:] = 0.8
    y += 0.01 * np.sin(np.arange(16))
    transform = Transform(y.shape, y)
    ones = np.ones((16, 9), complex)
    found = latent.latent(
        y, transform.forward(y), ones, 4e-3, gradients.laplacian(y.shape, y), transform
    )
    steps = np.abs(across(found))[0]
    assert (steps[[7, 15]] > 0.75).all() and np.delete(steps, [7, 15]).max() < 1e-4


# Least squares


def conjugate_gradients(left, right, count):
    """Conjugate gradients from 0, with dense matrices."""
    found, residual = np.zeros_like(right), right.copy()
    direction = residual
    for _ in range(count):
        step = residual @ residual / (direction @ left @ direction)
        found = found + step * direction
        after = residual - step * (left @ direction)
        direction = after + (after @ after) / (residual @ residual) * direction
        residual = after
    return found


@pytest.mark.parametrize("period", [(12, 9), (9, 11), (6, 7), (40, 37)])
@pytest.mark.parametrize("steps", [1, 15])
def test_least_squares(random, xp, monkeypatch, period, steps):
    """Periods shorter than the lags wrap around."""
    monkeypatch.setattr(leastsquares, "STEPS", steps)
    side = 5
    sharp, blurred = random.normal(size=(2, 2, *period))
    columns = [
        np.concatenate([reference.convolved(plane, to_period(unit, period)).ravel()
                        for plane in sharp])
        for unit in np.eye(side * side).reshape(-1, side, side)
    ]  # fmt: skip
    model = np.stack(columns, 1)
    normal = model.T @ model + 2 * np.eye(side * side)
    wanted = conjugate_gradients(normal, model.T @ blurred.ravel(), steps)
    transform = Transform(period, xp.empty(0))
    sums = leastsquares.correlations(
        tuple(xp.asarray(plane) for plane in sharp),
        tuple(transform.forward(xp.asarray(plane)) for plane in blurred),
        side, transform,
    )  # fmt: skip
    found = leastsquares.conjugate_gradients(*sums)
    # The same steps in float64, by other sums.
    np.testing.assert_allclose(found.ravel(), wanted, atol=1e-10)


def test_nothing_comes_of_nothing():
    transform = Transform((9, 9), np.empty(0))
    nothing = np.zeros((9, 9))
    spectra = transform.forward(nothing), transform.forward(nothing)
    sums = leastsquares.correlations((nothing, nothing), spectra, 5, transform)
    assert (leastsquares.conjugate_gradients(*sums) == 0).all()


def test_an_energy_near_the_smallest_number_ends_the_search():
    """A product of the last residual is 0 before the residual is: the step would be infinite."""
    own = np.zeros((5, 5))
    own[2], own[:, 2] = (
        (3e-11, 3.3e-11, 4.1e-11, 3.3e-11, 3e-11),
        (2e-12, 2e-12, 4.1e-11, 2e-12, 2e-12),
    )
    row = np.array((4.3e-7, 4.6e-7, 4.3e-7))
    for number in range(200):
        other = np.stack((row, (2.8 + number / 1000) * row, row))
        assert np.isfinite(leastsquares.conjugate_gradients(own, other)).all()


# Pruning


def test_negative_and_faint_values_go():
    psf = np.zeros((5, 5))
    psf[2] = [-9, 1.0, 0.051, 0.049, 0]
    found = leastsquares.pruned(psf)
    np.testing.assert_allclose(found[2], np.array([0, 1, 0.051, 0, 0]) / 1.051, rtol=1e-14)
    assert np.count_nonzero(found) == 2


def test_small_parts_go():
    """Components are connected through corners, too."""
    psf = np.zeros((9, 9))
    psf[[0, 1, 2], [0, 1, 2]] = 3  # 9
    psf[4, 4], psf[8, 0], psf[0, 8] = 1, 1.4, 0.8  # of 12.2: 8 %, 11 %, 7 %
    found = leastsquares.pruned(psf)
    assert set(zip(*np.nonzero(found), strict=True)) == {(0, 0), (1, 1), (2, 2), (8, 0)}
    assert found.sum() == pytest.approx(1)


def test_where_all_parts_are_small_they_stay():
    psf = np.zeros((9, 9))
    psf[::2, ::2] = 1  # 25 of 4 %
    np.testing.assert_array_equal(leastsquares.pruned(psf), psf / 25)


def test_nothing_is_left_of_nothing():
    assert (leastsquares.pruned(np.zeros((3, 3))) == 0).all()
    assert (leastsquares.pruned(np.full((3, 3), -1.0)) == 0).all()
