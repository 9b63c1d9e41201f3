"""Problems with every option, the reference's results, and how near a backend must come."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from support.mia import drawn, reference

ITERATIONS = (1, 20, 200)

DTYPES = ("float64", "float32")

STABLE = 2e-4
"""A weight of total variation for which rounding dies away; see `test_strong_total_variation`."""

OPTIONS = {
    "poisson": {},
    "read noise": {"read_noise": 0.02},
    "gaussian": {"noise": "gaussian"},
    "variation": {"tv": STABLE},
    "read noise, variation": {"read_noise": 0.02, "tv": STABLE},
    "gaussian, variation": {"noise": "gaussian", "tv": STABLE},
    "given": {"blind": False},
    "given, variation": {"blind": False, "tv": STABLE},
    "given, gaussian": {"blind": False, "noise": "gaussian"},
}

CASES = {  # period, frames, rows and columns of margin
    "32x64": ((32, 64), 1, (0, 0)),
    "odd": ((45, 61), 1, (0, 0)),
    "frames": ((64, 32), 3, (0, 0)),
    "margin": ((64, 48), 1, (8, 10)),
    "deep margin": ((32, 64), 1, (3, 30)),
    "frames, margin": ((37, 50), 3, (8, 11)),
}

WITHIN = {"float64": 1e-9, "float32": 1e-4}
"""Of the peak, of f and of h. float32: what is asked of MIA (the paper: 2e-3); 2e-5 in fact, of
ISRA with a given PSF, which settles slowest, else 5e-6. float64: the two sides round differently,
by 1e-13 in fact; the rest is room for other FFT libraries and processors."""


def compare(found, wanted, dtype):
    """Check f and h of one picture."""
    for one, other in zip(found, wanted, strict=True):
        assert one.min() >= 0
        np.testing.assert_allclose(one, other, rtol=0, atol=WITHIN[dtype] * other.max())


def check_fit(problem, f, h, fit, dtype, noise):
    """float32: g rounds by some 1e-7 of 1, and the fit by that times |1 − y/g| or 2 |y − g|."""
    wanted = reference.fit(problem.y, f.astype(float), h.astype(float), noise)
    assert fit == pytest.approx(wanted, rel=1e-9, abs={"float64": 1e-15, "float32": 1e-7}[dtype])


@cache
def case(option, name):
    """A problem, and what the reference makes of it."""
    options, (period, frames, margin) = OPTIONS[option], CASES[name]
    blind, noise = options.get("blind", True), options.get("noise", "poisson")
    random = np.random.default_rng([2017, *period, frames])
    problem = drawn.problem(random, period, frames, noise=noise, margin=margin, given=not blind)
    f, h, states, done = problem.f, problem.h, [], 0
    for count in ITERATIONS:
        f, h = reference.iterated(problem.y, f, h, count - done, **options)
        states.append((f, h))
        done = count
    return problem, states
