"""Figures of enlarged pictures against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench.quality import measures
from snellen.bench.quality.ssim import C1, C2, ssim


def planes(shape=(30, 37), seed=0):
    random = np.random.default_rng(seed)
    a = random.integers(20, 230, shape).astype(np.uint8)
    b = np.clip(a + random.normal(0, 12, shape), 0, 255).astype(np.uint8)
    return a, b


def test_ssim_by_its_definition():
    """Equations 13 to 17 of Wang et al. 2004, window by window."""
    a, b = planes()
    offset = np.arange(11) - 5
    window = np.exp(-(offset[:, None] ** 2 + offset**2) / (2 * 1.5**2))
    window /= window.sum()
    found = []
    for y in range(20):
        for x in range(27):
            one, other = (plane[y : y + 11, x : x + 11].astype(float) for plane in (a, b))
            mean = [(window * part).sum() for part in (one, other)]
            spread = [
                (window * (part - m) ** 2).sum() for part, m in zip((one, other), mean, strict=True)
            ]
            both = (window * (one - mean[0]) * (other - mean[1])).sum()
            found.append(
                (2 * mean[0] * mean[1] + C1) * (2 * both + C2)
                / ((mean[0] ** 2 + mean[1] ** 2 + C1) * (sum(spread) + C2))
            )  # fmt: skip
    # Sums of squares up to 255² in float64 lose 1e-11 of a variance.
    assert ssim(a, b) == pytest.approx(np.mean(found), abs=1e-9)


def test_ssim_of_known_planes():
    a, _ = planes()
    assert pytest.approx((6.5025, 58.5225)) == (C1, C2)  # ssim_index.m, L = 255
    assert ssim(a, a) == pytest.approx(1)
    dark, light = np.full((20, 20), 100, np.uint8), np.full((20, 20), 120, np.uint8)
    wanted = (2 * 100 * 120 + C1) / (100**2 + 120**2 + C1)
    assert ssim(dark, light) == pytest.approx(wanted, abs=1e-9)


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
