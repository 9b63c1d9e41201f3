"""Figures of enlarged pictures against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from snellen_lab.bench.quality import measures


def planes(shape=(30, 37), seed=0):
    random = np.random.default_rng(seed)
    a = random.integers(20, 230, shape).astype(np.uint8)
    b = np.clip(a + random.normal(0, 12, shape), 0, 255).astype(np.uint8)
    return a, b


def test_deviation_is_that_of_each_window():
    a, _ = planes((14, 17))
    found = measures.deviation(a)
    assert found.shape == a.shape
    assert found[6, 8] == pytest.approx(a[2:11, 4:13].astype(float).std(), rel=1e-5)
    assert not measures.deviation(np.full((12, 12), 50, np.uint8)).any()


def test_figures_of_a_picture():
    truth = np.full((64, 64), 100, np.uint8)
    truth[:, 40:] = planes((64, 24))[0]
    results = {"same": truth.astype(np.float32), "brighter": truth.astype(np.float32) + 2.4}
    results["coarse"] = truth // 32 * np.float32(32)
    found = measures.figures(truth, results, 2, "cpu")
    assert found["same"]["psnr"] == float("inf") and found["same"]["mad"] == 0
    assert found["same"]["ssim"] == pytest.approx(1)
    brighter = found["brighter"]  # rounded to 8 bits: by 2
    assert brighter["psnr"] == pytest.approx(20 * np.log10(255 / 2))
    assert brighter["flat"] == brighter["busy"] == 4
    assert found["coarse"]["mad"] > brighter["mad"] == 0  # 2 codes cannot be seen
    assert "mad" not in measures.figures(truth, results, 2, "cpu", mad=False)["same"]
    assert np.isnan(measures.squares(truth, truth, truth > 255))


def test_noise_is_the_change_that_coding_makes():
    a, b = (plane.astype(np.float32) for plane in planes())
    assert measures.noise([a, a], [a, a + 3]) == pytest.approx((9 / 2) ** 0.5)
    assert measures.noise([a], [b]) == pytest.approx(np.sqrt(np.mean((a - b) ** 2)))
    # In some pixels only, all frames taken together.
    first = np.zeros(a.shape, bool)
    first[:2] = True
    assert measures.noise([a, a], [a + 2, b], [first, ~first & first]) == pytest.approx(2)
    assert np.isnan(measures.noise([a], [b], [first & ~first]))
