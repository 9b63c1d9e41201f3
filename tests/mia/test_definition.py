"""Which MIA: settings; and the reference itself, by hand and by what the papers prove of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.mia import definition
from snellen.mia.definition import Definition
from snellen.mia.result import Restored, Step
from support.mia import drawn, reference


def test_the_default_is_blind_poisson():
    assert Definition() == Definition("poisson", 0.0, True, 0.0)


@pytest.mark.parametrize("value", [0, 1e-3, 1, np.float32(0.5)])
def test_settings_travel(value):
    one = Definition("poisson", value, False, value)
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(Definition("poisson", value, False, value))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise": "laplace"}, "noise='laplace'; expected one of poisson, gaussian"),
        ({"noise": None}, "noise=None"),
        ({"read_noise": -0.1}, "read_noise=-0.1; expected a number from 0 to 1000, white"),
        ({"read_noise": 1e20}, r"read_noise=1e\+20; expected a number from 0 to 1000"),
        ({"read_noise": 1e200}, r"read_noise=1e\+200; expected a number from 0 to 1000"),
        ({"read_noise": 10**400}, "read_noise=1000"),
        ({"tv": 1e39}, r"tv=1e\+39; expected a number from 0 to 1000, as 0\.001"),
        ({"read_noise": float("nan")}, "read_noise=nan"),
        ({"read_noise": "1"}, "read_noise='1'"),
        ({"read_noise": True}, "read_noise=True"),
        ({"tv": float("inf")}, "tv=inf"),
        ({"tv": -1}, "tv=-1"),
        ({"tv": None}, "tv=None"),
        ({"blind": 1}, "blind=1; expected True or False"),
        ({"noise": "gaussian", "read_noise": 0.1}, "read_noise=0.1 with noise='gaussian'"),
    ],
)
def test_refusals(settings, words):
    with pytest.raises(InputError, match=words):
        Definition(**settings)


def test_constants_are_the_references():
    assert definition.EPS == definition.LEAST == reference.EPS == 1e-6
    assert (definition.TV_EPS, definition.TV_LEAST) == (1e-6, 0.2)
    assert definition.UNOBSERVED < 0 and definition.SIDES == (32, 64, 128, 256)
    assert (definition.PSF_SIZE, definition.START, definition.ITERATIONS) == (31, 2.0, 200)


def test_results_are_plain():
    one = Restored("image", "psf", 0.1, 20, (Step(10, 0.2, 0.3), Step(20, 0.1, 0.1)))
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.history[-1].fit == one.fit and Restored(1, 2, 3, 4).history == ()


# The reference


def test_convolution_and_correlation_by_hand(random):
    a, b = random.random((2, 5, 6))
    one, other = np.zeros((5, 6)), np.zeros((5, 6))
    for i, j in np.ndindex(5, 6):
        for k, n in np.ndindex(5, 6):
            one[i, j] += a[(i - k) % 5, (j - n) % 6] * b[k, n]
            other[i, j] += a[(i + k) % 5, (j + n) % 6] * b[k, n]
    np.testing.assert_allclose(reference.convolved(a, b), one)
    np.testing.assert_allclose(reference.correlated(a, b), other)


def test_curvature_is_the_gradient_of_total_variation(random):
    """−div(∇f / |∇f|) is the derivative of Σ |∇f|, here by finite differences."""

    def variation(f):
        right, down = np.roll(f, -1, 1) - f, np.roll(f, -1, 0) - f
        return np.sqrt(right**2 + down**2 + 1e-6).sum()

    f = random.random((5, 6))
    found = -reference.curvature(f)
    for at in np.ndindex(f.shape):
        step = np.zeros(f.shape)
        step[at] = 1e-6
        slope = (variation(f + step) - variation(f - step)) / 2e-6
        assert found[at] == pytest.approx(slope, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
@pytest.mark.parametrize("margin", [(0, 0), (7, 9)])
@pytest.mark.parametrize("frames", [1, 2])
def test_the_fit_never_gets_worse(random, noise, margin, frames):
    """Of a given PSF, by the papers' proofs; with unobserved samples by EM's."""
    problem = drawn.problem(random, (32, 32), frames, noise=noise, margin=margin, given=True)
    f, h, last = problem.f, problem.h, np.inf
    for _ in range(30):
        f, h = reference.iterated(problem.y, f, h, 1, noise, blind=False)
        fit = reference.fit(problem.y, f, h, noise)
        assert fit <= last * (1 + 1e-12)
        last = fit
    assert last < 0.9 * reference.fit(problem.y, problem.f, problem.h, noise)


@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_the_truth_is_a_fixed_point(random, noise):
    """Where the model is what came, nothing moves, in the margin neither."""
    problem = drawn.problem(random, (32, 32), 2, margin=(5, 6), given=True)
    y = np.array([reference.convolved(problem.sharp, blur) for blur in problem.blurs])
    y[problem.y < 0] = -1
    f, h = reference.iterated(y, problem.sharp, problem.blurs, 3, noise)
    np.testing.assert_allclose(f, problem.sharp, rtol=1e-9)
    np.testing.assert_allclose(h, problem.blurs, atol=1e-12)


def test_one_iteration_by_hand():
    """A point of 4 beside a point of 1, h = (3/4, 1/4): the Poisson form on two samples.

    g = (4·¾ + 1·¼, 4·¼ + 1·¾) = (13/4, 7/4); y = (2, 3), so r = (8/13, 12/7).
    """
    y, f = np.array([[[2.0, 3.0]]]), np.array([[4.0, 1.0]])
    h = np.array([[[3.0, 1.0]]])  # sum 4: it is normalised
    r = np.array([8 / 13, 12 / 7])
    wanted = f[0] * [r[0] * 3 / 4 + r[1] / 4, r[1] * 3 / 4 + r[0] / 4]
    of_h = np.array([r[0] * 4 + r[1], r[1] * 4 + r[0]]) / 5
    blur = np.array([3 / 4, 1 / 4]) * of_h
    found = reference.iterated(y, f, h, 1)
    np.testing.assert_allclose(found[0][0], wanted)
    np.testing.assert_allclose(found[1][0, 0], blur / blur.sum())
