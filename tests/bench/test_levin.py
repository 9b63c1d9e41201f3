"""Levin's protocol: the best shift, the crop, the error ratio."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from benchmarks import levin
from support.mia import drawn

NOISE = 0.01


@pytest.mark.parametrize(
    "by", [(0, 0), (3, -2), (-14, 14), (0.25, 0), (-1.5, 6.75), (14.75, -14.75)]
)
def test_the_shift_is_found(random, by):
    sharp = drawn.scene(random, (70, 80))
    moved = ndimage.shift(sharp, by, order=1, mode="nearest")
    # `evaluate` looks where each sample of the sharp picture went.
    found = levin.evaluate(moved, ndimage.shift(moved, [-b for b in by], order=1, mode="nearest"))
    assert found.shift == by and found.error < 1e-25


def test_psnr(random):
    sharp = drawn.scene(random, (70, 80))
    found = levin.evaluate(sharp + NOISE, sharp)
    assert found.shift == (0, 0) and found.psnr == pytest.approx(40, rel=1e-9)


def test_edges_do_not_count(random):
    sharp = drawn.scene(random, (70, 80))
    other = random.random(sharp.shape)
    other[15:-15, 15:-15] = sharp[15:-15, 15:-15] + NOISE
    assert levin.evaluate(other, sharp).psnr == pytest.approx(40, rel=1e-9)
    other[15, 15] += 0.5
    assert levin.evaluate(other, sharp).psnr < 39


@pytest.mark.slow
def test_measure(random, monkeypatch, tmp_path):
    """The true PSF is the file's, rotated by 180°."""
    (tmp_path / "levin09").mkdir()
    sharp, kernel = drawn.scene(random, (60, 66)), drawn.walk(random, 5)
    blurred = ndimage.convolve(sharp, kernel[::-1, ::-1], mode="nearest")
    for name in ("b", "a"):
        np.savez(tmp_path / "levin09" / name, sharp=sharp, blurred=blurred, kernel=kernel)
    monkeypatch.setenv("SNELLEN_DATA", str(tmp_path))
    lines = []
    found = levin.measure("cpu", lines.append)
    assert found["pictures"] == 2 and [one["picture"] for one in found["each"]] == ["a", "b"]
    assert [row["name"] for row in found["rows"]] == ["as they are", "MIA", 'MIA with prior="l0"',
                                                      "the true PSF"]  # fmt: skip
    blurred_, _, prior, true = found["rows"]
    assert true["ratio"] == 1 and true["within"] == 2 and true["psnr_db"] > blurred_["psnr_db"] + 6
    assert prior["ratio"] > 1 and blurred_["ratio"] == pytest.approx(
        10 ** ((true["psnr_db"] - blurred_["psnr_db"]) / 10)
    )
    assert len(lines) == 4
