"""Pooled statistics."""

from __future__ import annotations

import math
from statistics import harmonic_mean

import numpy as np
import pytest

from snellen.metrics.pooling import pool, pool_psnr


def test_known_numbers():
    pooled = pool([3.0, 0.0, 1.0, 2.0, 4.0])
    assert (pooled.min, pooled.median, pooled.mean, pooled.max) == (0, 2, 2, 4)
    assert pooled.p5 == pytest.approx(0.2) and pooled.p95 == pytest.approx(3.8)
    assert pooled.harmonic_mean == pytest.approx(harmonic_mean([4, 1, 2, 3, 5]) - 1)


def test_identical_frames_do_not_take_all():
    """The plain harmonic mean would be 0."""
    assert pool([0.0] * 3).harmonic_mean == 0
    assert 2 < pool([0.0, *[30.0] * 99]).harmonic_mean < 30


def test_one_score():
    pooled = pool([7.5])
    assert pooled.mean == pooled.min == pooled.max == pooled.median == pooled.p5 == pooled.p95
    assert pooled.harmonic_mean == pytest.approx(7.5)


def test_percentiles_are_between_two_scores(random):
    scores = random.uniform(0, 100, 41)
    ordered = np.sort(scores)
    pooled = pool(scores.tolist())
    assert (pooled.p5, pooled.p95) == pytest.approx((ordered[2], ordered[38]))


def test_infinite_scores():
    """PSNR of equal frames."""
    inf = float("inf")
    pooled = pool([30.0, inf, 40.0, inf, inf])
    assert (pooled.min, pooled.max, pooled.mean, pooled.median) == (30, inf, inf, inf)
    assert pooled.p95 == inf and 30 < pooled.p5 < 40
    assert pooled.harmonic_mean == pytest.approx(5 / (1 / 31 + 1 / 41) - 1)
    assert pool([inf, inf]).harmonic_mean == inf


def test_psnr_of_the_mean_squared_error():
    """Two pictures with mean squared errors of 1 and 100, white 255; equal ones have none."""
    one, other = (20 * math.log10(255 / error) for error in (1, 10))
    pooled = pool_psnr([one, other])
    assert pooled.mean == pytest.approx((one + other) / 2)
    assert pooled.of_mean_mse == pytest.approx(10 * math.log10(255**2 / 50.5))
    halved = 10 * math.log10(255**2 / 0.5)
    assert pool_psnr([one, math.inf]).of_mean_mse == pytest.approx(halved)
    assert pool_psnr([math.inf]).of_mean_mse == math.inf
    assert pool([one]).of_mean_mse is None and "of_mean_mse" not in pool([one]).facts()
